#include "collectives/bootstrap_hub.hpp"

#include "libcore/error.hpp"

#include <fmt/format.h>

#include <algorithm>

#include <poll.h>

namespace attune::collectives {

Hub::Hub(std::vector<int> sockets) : seats_(sockets.size()), contributions_(sockets.size()) {
    for (std::size_t i = 0; i < sockets.size(); ++i)
        seats_[i].socket = sockets[i];
}

Hub::~Hub() {
    for (Contribution& contribution : contributions_)
        close_all(contribution.descriptors);
}

short Hub::interest(Rank rank) const {
    const Seat& seat = seats_[static_cast<std::size_t>(rank)];
    if (!seat.open || seat.closed) return 0;
    const bool delivering = arrived_ == seats_.size();
    short events = 0;
    // While a round is delivered nobody is read: a rank that is ahead waits in its socket.
    if ((!delivering || !failure_.empty()) && !seat.foreign) events |= POLLIN;
    if (seat.waiting && (delivering || !failure_.empty()) && !crowded_) events |= POLLOUT;
    return events;
}

void Hub::ready(Rank rank, short events) {
    const Seat& seat = seats_[static_cast<std::size_t>(rank)];
    if ((events & POLLOUT) != 0) write(rank);
    if ((events & (POLLIN | POLLHUP | POLLERR)) != 0 && (interest(rank) & POLLIN) != 0) read(rank);
    // A peer that is gone raises POLLHUP for ever; one that is being answered is noticed by the failing send.
    if ((events & (POLLHUP | POLLERR)) != 0 && seat.waiting) write(rank);
}

void Hub::ended(Rank rank, const std::string& how) {
    Seat& seat = seats_[static_cast<std::size_t>(rank)];
    // What it sent before it ended still counts.
    while ((interest(rank) & POLLIN) != 0 && peek_packet(seat.socket) == ReceiveState::received)
        read(rank);
    if (!seat.open) return;
    seat.open = false;
    close(rank);
    if (first_leaver_.empty()) first_leaver_ = how;
    const bool somebody_waits = std::ranges::any_of(seats_, [](const Seat& other) { return other.waiting; });
    if (arrived_ < seats_.size() && somebody_waits) fail(how);
}

void Hub::retry() {
    crowded_ = false;
    for (std::size_t rank = 0; rank < seats_.size(); ++rank)
        if ((interest(static_cast<Rank>(rank)) & POLLOUT) != 0) write(static_cast<Rank>(rank));
}

bool Hub::foreign() const noexcept {
    return std::ranges::any_of(seats_, [](const Seat& seat) { return seat.open && seat.foreign; });
}

void Hub::look_again() {
    for (Seat& seat : seats_)
        if (seat.foreign) seat.foreign = peek_packet(seat.socket) == ReceiveState::foreign;
}

void Hub::read(Rank rank) {
    Seat& seat = seats_[static_cast<std::size_t>(rank)];
    Packet packet;
    try {
        const ReceiveState state = receive_packet(seat.socket, packet);
        if (state == ReceiveState::received) accept(rank, std::move(packet));
        if (state == ReceiveState::foreign) seat.foreign = true;
        if (state == ReceiveState::gone) close(rank);
    } catch (const core::Error& error) {
        seat.waiting = true;
        fail(fmt::format("the launcher refused rank {}: {}", rank, error.what()));
    }
}

void Hub::accept(Rank rank, Packet packet) {
    Seat& seat = seats_[static_cast<std::size_t>(rank)];
    const PacketHeader& header = packet.header;
    // The first contribution names the exchange: ranks that make a second bootstrap all start from 0 again.
    if (arrived_ == 0) sequence_ = header.sequence;
    const bool right =
        header.kind == PacketKind::contribute && header.rank == rank && header.size == static_cast<int>(seats_.size()) && header.sequence == sequence_;
    seat.waiting = true;
    if (!right || seat.contributed || !failure_.empty()) {
        close_all(packet.content.descriptors);
        if (failure_.empty())
            fail(fmt::format("rank {} introduced itself as rank {} of {} in exchange {}; expected rank {} of {} in exchange {}", rank, header.rank, header.size,
                             header.sequence, rank, seats_.size(), sequence_));
        return;
    }
    contributions_[static_cast<std::size_t>(rank)] = std::move(packet.content);
    seat.contributed = true;
    seat.delivered = 0;
    ++arrived_;
    if (!first_leaver_.empty() && arrived_ < seats_.size()) fail(first_leaver_);
}

void Hub::write(Rank rank) {
    Seat& seat = seats_[static_cast<std::size_t>(rank)];
    while (seat.waiting && !crowded_ && send_next(rank)) {
    }
    finish_round_when_delivered();
}

// False when the socket is full, crowded or gone.
bool Hub::send_next(Rank rank) {
    Seat& seat = seats_[static_cast<std::size_t>(rank)];
    PacketHeader header;
    header.sequence = sequence_;
    header.size = static_cast<int>(seats_.size());
    SendState state = SendState::sent;
    if (!failure_.empty()) {
        header.kind = PacketKind::failed;
        const auto text = std::as_bytes(std::span(failure_));
        state = send_packet(seat.socket, header, text.first(std::min(text.size(), bootstrap_bytes_limit)), {});
        if (state == SendState::sent) seat.waiting = false;
    } else {
        header.kind = PacketKind::contribution;
        header.rank = static_cast<Rank>(seat.delivered);
        const Contribution& next = contributions_[seat.delivered];
        state = send_packet(seat.socket, header, next.bytes, next.descriptors);
        if (state == SendState::sent && ++seat.delivered == seats_.size()) seat.waiting = false;
    }
    if (state == SendState::crowded) crowded_ = true;
    if (state == SendState::gone) close(rank);
    return state == SendState::sent;
}

void Hub::fail(std::string reason) {
    if (!failure_.empty()) return;
    failure_ = std::move(reason);
    for (Contribution& contribution : contributions_)
        close_all(contribution.descriptors);
}

void Hub::close(Rank rank) {
    Seat& seat = seats_[static_cast<std::size_t>(rank)];
    seat.closed = true;
    seat.waiting = false;
    finish_round_when_delivered();
}

void Hub::finish_round_when_delivered() {
    if (arrived_ < seats_.size() || !failure_.empty()) return;
    if (std::ranges::any_of(seats_, [](const Seat& seat) { return seat.waiting; })) return;
    for (Contribution& contribution : contributions_) {
        close_all(contribution.descriptors);
        contribution.bytes.clear();
    }
    for (Seat& seat : seats_)
        seat.contributed = false;
    arrived_ = 0;
}

}  // namespace attune::collectives
