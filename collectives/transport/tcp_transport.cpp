#include "collectives/transport/tcp_transport.hpp"

#include "libcore/clock.hpp"
#include "libcore/error.hpp"

#include <algorithm>
#include <ctime>
#include <exception>
#include <utility>

namespace attune::collectives {

namespace {

// A reset destroys what the other host has not confirmed, so the end waits for it. After a failure nobody needs it but for the abort text.
constexpr std::int64_t farewell_patience_ns = 60'000'000'000, failure_patience_ns = 200'000'000;
constexpr timespec confirmation_poll{0, 100'000};
// Of a host that confirms nothing though everything was sent again and again: keepalive probes, which take about as long, go out on idle streams only.
constexpr std::int64_t dead_after_ms = 40'000, given_up_after_ms = 5'000;

}  // namespace

TcpTransport::TcpTransport(TcpTeam team)
    : layout_(team.layout),
      rank_(team.rank),
      oversubscribed_(team.oversubscribed),
      processes_(std::move(team.processes)),
      states_(static_cast<std::size_t>(team.layout.ranks)),
      peers_(team.sockets.size()),
      home_(std::move(team.home)),
      defaults_(std::move(team.defaults)),
      congestion_controls_(std::move(team.congestion_controls)) {
    for (std::size_t rank = 0; rank < peers_.size(); ++rank)
        if (team.sockets[rank]) peers_[rank] = std::make_unique<TcpPeer>(context_, std::move(team.sockets[rank]), layout_, states_[rank]);
    blocked_.reserve(peers_.size());
    watched_.reserve(peers_.size() * max_channels);
}

TcpTransport::~TcpTransport() {
    const bool failed = !abort_reason().empty();
    for (const Peer& peer : peers_) {
        if (!peer) continue;
        peer->withdraw();
        tell(*peer);  // so that nobody takes the end for a death in the middle of a call
        peer->say_goodbye();
    }
    await_confirmation(failed ? failure_patience_ns : farewell_patience_ns);
}

void TcpTransport::await_confirmation(std::int64_t patience_ns) noexcept {
    const std::int64_t deadline = core::now_ns() + patience_ns;
    while (true) {
        bool open = false;
        for (const Peer& peer : peers_) {
            if (!peer) continue;
            peer->receive_all();  // a peer that cannot send may not be able to read either
            const bool sent = peer->flush() && !peer->unconfirmed();
            open |= !sent && !peer->left() && !peer->gone(given_up_after_ms);
        }
        if (!open || core::now_ns() >= deadline) return;
        nanosleep(&confirmation_poll, nullptr);
    }
}

void TcpTransport::remember(TcpPeer& peer) noexcept {
    if (peer.waiting() && std::ranges::find(blocked_, &peer) == blocked_.end()) blocked_.push_back(&peer);
}

bool TcpTransport::post_send(const Lane& lane, const Message& message) noexcept {
    TcpPeer& to = peer(lane);
    if (!to.ready(lane)) return false;
    to.send(lane, message);
    remember(to);
    return true;
}

bool TcpTransport::ready(std::span<const Rank> peers, const Lane& lane) noexcept {
    return std::ranges::all_of(peers, [&](Rank rank) {
        const Lane one{rank, lane.slot, lane.channel};
        return peer(one).ready(one);
    });
}

bool TcpTransport::post_send_many(std::span<const Rank> peers, const Lane& lane, const Message& message) noexcept {
    if (!ready(peers, lane)) return false;
    for (const Rank rank : peers) {
        const Lane one{rank, lane.slot, lane.channel};
        peer(one).send(one, message);
        remember(peer(one));
    }
    return true;
}

bool TcpTransport::peek(const Lane& lane, std::uint64_t, bool, Incoming& incoming) noexcept {
    return peer(lane).peek(lane, incoming);
}

void TcpTransport::release(const Lane& lane) noexcept {
    TcpPeer& from = peer(lane);
    from.release(lane);
    remember(from);
}

void TcpTransport::publish(const CallRecord& record) noexcept {
    own().records[record.call % in_flight_slots] = record;
}

CallRecord TcpTransport::published(Rank rank) const noexcept {
    const auto& records = states_[static_cast<std::size_t>(rank)].records;
    return *std::ranges::max_element(records, {}, &CallRecord::call);
}

void TcpTransport::tell(TcpPeer& peer) noexcept {
    FrameHeader header;
    for (std::uint8_t slot = 0; slot < in_flight_slots; ++slot) {
        const CallRecord& record = own().records[slot];
        header.kind = FrameKind::record;
        header.slot = slot;
        if (record.call != 0) peer.send_control(header, std::as_bytes(std::span(&record, 1)));
    }
    header.kind = FrameKind::completed;
    header.slot = 0;
    header.digest = own().completed;
    peer.send_control(header, {});
}

// Hearing is left to dead_ranks(), which reads every stream to its end.
void TcpTransport::refresh() noexcept {
    dead_ranks();
    const std::uint64_t latest = published(rank_).call;
    if (told_ == latest) return;
    told_ = latest;
    for (const Peer& peer : peers_) {
        if (!peer) continue;
        tell(*peer);
        remember(*peer);
    }
}

void TcpTransport::abort(std::string_view reason) noexcept {
    if (!abort_reason().empty()) return;
    abort_reason_ = reason.substr(0, control_payload_limit);
    FrameHeader header;
    header.kind = FrameKind::abort;
    for (const Peer& peer : peers_) {
        if (!peer) continue;
        peer->send_control(header, std::as_bytes(std::span(abort_reason_)));
        remember(*peer);
    }
}

std::string TcpTransport::abort_reason() const {
    if (!abort_reason_.empty()) return abort_reason_;
    const auto told = std::ranges::find_if(states_, [](const PeerState& state) { return !state.abort_reason.empty(); });
    return told == states_.end() ? std::string{} : told->abort_reason;
}

bool TcpTransport::has_left(Rank rank) const noexcept {
    const Peer& peer = peers_[static_cast<std::size_t>(rank)];
    return peer && peer->left();
}

std::vector<Rank> TcpTransport::dead_ranks() noexcept {
    std::vector<Rank> dead;
    for (Rank rank = 0; rank < layout_.ranks; ++rank) {
        const Peer& peer = peers_[static_cast<std::size_t>(rank)];
        if (!peer) continue;
        peer->receive_all();
        if (peer->left() || peer->gone(dead_after_ms)) dead.push_back(rank);
    }
    return dead;
}

void TcpTransport::prepare(const LinkOptions& link) {
    if (link.channels > 1 && !opened_) begin_opening();
    const bool same = link.socket_buffer_bytes == link_.socket_buffer_bytes && link.congestion_control == link_.congestion_control;
    if (same) return;
    link_ = link;
    for (const Peer& peer : peers_)
        if (peer) peer->for_each_connection([&](const TcpConnection& connection) { apply_link(connection.descriptor(), link_, defaults_); });
}

std::size_t TcpTransport::connected_below() const noexcept {
    return static_cast<std::size_t>(std::count_if(peers_.begin(), peers_.begin() + rank_, [](const Peer& peer) { return peer != nullptr; }));
}

// Who cannot listen goes on with what there is; its peers give up waiting for the invitation.
void TcpTransport::begin_opening() {
    opened_ = true;
    std::vector<Rank> guests;
    for (Rank rank = rank_ + 1; rank < layout_.ranks; ++rank)
        if (peers_[static_cast<std::size_t>(rank)]) guests.push_back(rank);
    try {
        opening_ = std::make_unique<TcpOpening>(home_, rank_, layout_.channels, guests);
    } catch (const core::Error&) {
        return;
    }
    if (guests.empty()) return;
    FrameHeader header;
    header.kind = FrameKind::invitation;
    const std::string endpoint = opening_->endpoint().text();
    for (const Rank guest : guests) {
        TcpPeer& peer = *peers_[static_cast<std::size_t>(guest)];
        peer.send_control(header, std::as_bytes(std::span(endpoint)));
        remember(peer);
    }
}

void TcpTransport::open_further() {
    for (Rank rank = 0; rank < rank_; ++rank) {
        std::string& invitation = states_[static_cast<std::size_t>(rank)].invitation;
        if (invitation.empty()) continue;
        opening_->visit(rank, TcpEndpoint::parse(std::exchange(invitation, {})));
    }
    while (auto stream = opening_->next()) {
        set_up_stream(stream->socket.get(), defaults_);
        if (link_ != LinkOptions{}) apply_link(stream->socket.get(), link_, defaults_);
        peers_[static_cast<std::size_t>(stream->peer)]->add(stream->channel, std::move(stream->socket));
    }
    if (opening_->over(connected_below())) opening_.reset();
}

// Runs in every pass of a wait. What fails in the opening of further streams is no failure of the team.
bool TcpTransport::flush() noexcept {
    if (opening_) {
        try {
            open_further();
        } catch (const std::exception&) {
            opening_.reset();
        }
    }
    if (blocked_.empty()) return true;
    std::erase_if(blocked_, [](TcpPeer* peer) { return peer->flush(); });
    return blocked_.empty();
}

bool TcpTransport::rest(std::int64_t ns) noexcept {
    watched_.clear();
    for (const Peer& peer : peers_)
        if (peer) peer->watch(watched_);
    const timespec limit{ns / 1'000'000'000, ns % 1'000'000'000};
    if (::ppoll(watched_.data(), watched_.size(), &limit, nullptr) <= 0) return true;
    // What arrived may be nothing that anyone waits for: unread it would end every further sleep at once.
    std::span<const pollfd> entries(watched_);
    for (const Peer& peer : peers_)
        if (peer) entries = entries.subspan(peer->hear(entries));
    flush();
    return true;
}

}  // namespace attune::collectives
