#include "collectives/transport/tcp_peer.hpp"

#include <algorithm>
#include <utility>

namespace attune::collectives {

TcpPeer::TcpPeer(boost::asio::io_context& context, core::UniqueFd socket, const TcpLayout& layout, PeerState& state)
    : context_(context), lanes_(layout), state_(state) {
    connections_.front() = std::make_unique<TcpConnection>(context_, std::move(socket), lanes_, state_);
    routes_.assign(lanes_.count(), connections_.front().get());
}

void TcpPeer::add(std::size_t channel, core::UniqueFd socket) {
    connections_[channel] = std::make_unique<TcpConnection>(context_, std::move(socket), lanes_, state_);
    connections_[channel]->send_credit(TcpLanes::index(0, channel));  // to be heard
}

TcpConnection& TcpPeer::route(const Lane& lane) noexcept {
    TcpConnection*& present = routes_[number(lane)];
    TcpConnection* const own = connections_[lane.channel].get();
    if (own != nullptr && own != present && own->heard() && lanes_.idle(number(lane))) present = own;
    return *present;
}

bool TcpPeer::ready(const Lane& lane) noexcept {
    TcpConnection& to = route(lane);
    if (!to.flush() || !to.takes()) return false;
    if (lanes_.has_room(number(lane))) return true;
    receive(lane);
    return to.takes() && lanes_.has_room(number(lane));
}

void TcpPeer::send(const Lane& lane, const Message& message) noexcept {
    routes_[number(lane)]->send(number(lane), message);
}

bool TcpPeer::flush() noexcept {
    bool empty = true;
    for (const auto& connection : connections_)
        if (connection) empty &= connection->flush();
    return empty;
}

bool TcpPeer::waiting() const noexcept {
    return std::ranges::any_of(connections_, [](const auto& connection) { return connection && connection->waiting(); });
}

// The peer changes its way when it likes: until then its messages come on the first stream.
void TcpPeer::receive(const Lane& lane) noexcept {
    first().receive();
    if (lane.channel != 0 && connections_[lane.channel]) connections_[lane.channel]->receive();
}

bool TcpPeer::peek(const Lane& lane, Incoming& incoming) noexcept {
    if (lanes_.front(number(lane), incoming)) return true;
    receive(lane);
    return lanes_.front(number(lane), incoming);
}

void TcpPeer::release(const Lane& lane) noexcept {
    if (lanes_.release(number(lane))) routes_[number(lane)]->send_credit(number(lane));
}

void TcpPeer::withdraw() noexcept {
    for (const auto& connection : connections_)
        if (connection) connection->withdraw();
}

void TcpPeer::receive_all() noexcept {
    for (const auto& connection : connections_)
        if (connection) connection->receive_all();  // the end of a stream comes after all that was sent on it
}

void TcpPeer::say_goodbye() noexcept {
    FrameHeader header;
    header.kind = FrameKind::goodbye;
    for (const auto& connection : connections_)
        if (connection) connection->send_control(header, {});
}

bool TcpPeer::left() const noexcept {
    return std::ranges::all_of(connections_, [&](const auto& connection) { return !counts(connection) || connection->ended(); });
}

bool TcpPeer::gone(std::int64_t silence_ms) const noexcept {
    return std::ranges::any_of(connections_, [&](const auto& connection) {
        if (!counts(connection)) return false;
        return connection->closed() || connection->silent_for(silence_ms);
    });
}

bool TcpPeer::unconfirmed() const noexcept {
    return std::ranges::any_of(connections_, [](const auto& connection) { return connection && connection->unconfirmed(); });
}

void TcpPeer::watch(std::vector<pollfd>& entries) const {
    for_each_connection([&](const TcpConnection& connection) {
        const short events = connection.waiting() ? POLLIN | POLLOUT : POLLIN;
        if (!connection.closed()) entries.push_back({connection.descriptor(), events, 0});
    });
}

// Nothing closes between watch() and this but by the reading here.
std::size_t TcpPeer::hear(std::span<const pollfd> entries) noexcept {
    std::size_t entry = 0;
    for (const auto& connection : connections_) {
        if (!connection || connection->closed()) continue;
        if ((entries[entry++].revents & ~POLLOUT) != 0) connection->receive();
    }
    return entry;
}

}  // namespace attune::collectives
