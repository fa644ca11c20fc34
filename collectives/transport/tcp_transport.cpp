#include "collectives/transport/tcp_transport.hpp"

#include "libcore/clock.hpp"

#include <algorithm>
#include <ctime>
#include <utility>

namespace attune::collectives {

namespace {

// A reset destroys what the other host has not confirmed, so the end waits for it. After a failure nobody needs it but for the abort text.
constexpr std::int64_t farewell_patience_ns = 60'000'000'000, failure_patience_ns = 200'000'000;
constexpr timespec confirmation_poll{0, 100'000};

}  // namespace

TcpTransport::TcpTransport(TcpTeam team)
    : layout_(team.layout),
      rank_(team.rank),
      oversubscribed_(team.oversubscribed),
      processes_(std::move(team.processes)),
      peers_(static_cast<std::size_t>(team.layout.ranks)),
      connections_(team.sockets.size()) {
    for (std::size_t i = 0; i < connections_.size(); ++i)
        if (team.sockets[i]) connections_[i].emplace(context_, std::move(team.sockets[i]), layout_, peers_[i / static_cast<std::size_t>(layout_.channels)]);
    blocked_.reserve(connections_.size());
    watched_.reserve(connections_.size());
}

TcpTransport::~TcpTransport() {
    const bool failed = !abort_reason().empty();
    for (Connection& connection : connections_) {
        if (!connection) continue;
        tell(*connection);  // so that nobody takes the end for a death in the middle of a call
    }
    await_confirmation(failed ? failure_patience_ns : farewell_patience_ns);
}

bool TcpTransport::await_confirmation(std::int64_t patience_ns) noexcept {
    const std::int64_t deadline = core::now_ns() + patience_ns;
    while (true) {
        bool open = false;
        for (Connection& connection : connections_) {
            if (!connection || connection->closed()) continue;
            connection->receive_all();  // a peer that cannot send may not be able to read either
            open |= !connection->flush() || connection->unconfirmed();
        }
        if (!open || core::now_ns() >= deadline) return !open;
        nanosleep(&confirmation_poll, nullptr);
    }
}

void TcpTransport::remember(TcpConnection& connection) noexcept {
    if (connection.waiting() && std::ranges::find(blocked_, &connection) == blocked_.end()) blocked_.push_back(&connection);
}

bool TcpTransport::post_send(const Lane& lane, const Message& message) noexcept {
    TcpConnection& to = connection(lane);
    if (!to.ready(lane.slot)) return false;
    to.send(lane.slot, message);
    remember(to);
    return true;
}

bool TcpTransport::ready(std::span<const Rank> peers, const Lane& lane) noexcept {
    return std::ranges::all_of(peers, [&](Rank peer) { return connection({peer, lane.slot, lane.channel}).ready(lane.slot); });
}

bool TcpTransport::post_send_many(std::span<const Rank> peers, const Lane& lane, const Message& message) noexcept {
    if (!ready(peers, lane)) return false;
    for (const Rank peer : peers) {
        TcpConnection& to = connection({peer, lane.slot, lane.channel});
        to.send(lane.slot, message);
        remember(to);
    }
    return true;
}

bool TcpTransport::peek(const Lane& lane, std::uint64_t, bool, Incoming& incoming) noexcept {
    return connection(lane).peek(lane.slot, incoming);
}

void TcpTransport::release(const Lane& lane) noexcept {
    TcpConnection& from = connection(lane);
    from.release(lane.slot);
    remember(from);
}

void TcpTransport::publish(const CallRecord& record) noexcept {
    own().records[record.call % in_flight_slots] = record;
}

CallRecord TcpTransport::published(Rank rank) const noexcept {
    const auto& records = peers_[static_cast<std::size_t>(rank)].records;
    return *std::ranges::max_element(records, {}, &CallRecord::call);
}

void TcpTransport::tell(TcpConnection& connection) noexcept {
    FrameHeader header;
    for (std::uint8_t slot = 0; slot < in_flight_slots; ++slot) {
        const CallRecord& record = own().records[slot];
        header.kind = FrameKind::record;
        header.slot = slot;
        if (record.call != 0) connection.send_control(header, std::as_bytes(std::span(&record, 1)));
    }
    header.kind = FrameKind::completed;
    header.slot = 0;
    header.digest = own().completed;
    connection.send_control(header, {});
}

// Hearing is left to dead_ranks(), which reads every stream to its end.
void TcpTransport::refresh() noexcept {
    dead_ranks();
    const std::uint64_t latest = published(rank_).call;
    if (told_ == latest) return;
    told_ = latest;
    for (Rank peer = 0; peer < layout_.ranks; ++peer) {
        Connection& connection = connections_[index(peer, 0)];
        if (!connection) continue;
        tell(*connection);
        remember(*connection);
    }
}

void TcpTransport::abort(std::string_view reason) noexcept {
    if (!abort_reason().empty()) return;
    abort_reason_ = reason.substr(0, control_payload_limit);
    FrameHeader header;
    header.kind = FrameKind::abort;
    for (Rank peer = 0; peer < layout_.ranks; ++peer) {
        Connection& connection = connections_[index(peer, 0)];
        if (!connection) continue;
        connection->send_control(header, std::as_bytes(std::span(abort_reason_)));
        remember(*connection);
    }
}

std::string TcpTransport::abort_reason() const {
    if (!abort_reason_.empty()) return abort_reason_;
    const auto told = std::ranges::find_if(peers_, [](const PeerState& peer) { return !peer.abort_reason.empty(); });
    return told == peers_.end() ? std::string{} : told->abort_reason;
}

std::vector<Rank> TcpTransport::dead_ranks() noexcept {
    std::vector<Rank> dead;
    for (std::size_t i = 0; i < connections_.size(); ++i) {
        const auto peer = static_cast<Rank>(i / static_cast<std::size_t>(layout_.channels));
        if (connections_[i]) connections_[i]->receive_all();  // the end of a stream comes after all that was sent on it
        if (connections_[i] && connections_[i]->closed() && (dead.empty() || dead.back() != peer)) dead.push_back(peer);
    }
    return dead;
}

bool TcpTransport::flush() noexcept {
    if (blocked_.empty()) return true;
    std::erase_if(blocked_, [](TcpConnection* connection) { return connection->flush(); });
    return blocked_.empty();
}

bool TcpTransport::rest(std::int64_t ns) noexcept {
    watched_.clear();
    for (Connection& connection : connections_) {
        if (!connection || connection->closed()) continue;
        const short events = connection->waiting() ? POLLIN | POLLOUT : POLLIN;
        watched_.push_back({connection->descriptor(), events, 0});
    }
    const timespec limit{ns / 1'000'000'000, ns % 1'000'000'000};
    if (::ppoll(watched_.data(), watched_.size(), &limit, nullptr) <= 0) return true;
    // What arrived may be nothing that anyone waits for: unread it would end every further sleep at once.
    std::size_t entry = 0;
    for (Connection& connection : connections_) {
        if (!connection || connection->closed()) continue;
        if ((watched_[entry++].revents & ~POLLOUT) != 0) connection->receive();
    }
    flush();
    return true;
}

}  // namespace attune::collectives
