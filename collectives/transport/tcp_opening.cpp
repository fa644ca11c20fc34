#include "collectives/transport/tcp_opening.hpp"

#include "libcore/error.hpp"

#include <algorithm>
#include <utility>

#include <sys/socket.h>

namespace attune::collectives {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds patience{30};
constexpr std::size_t most_guests = 256;  // a flood of strangers takes no more descriptors than this

}  // namespace

TcpOpening::TcpOpening(const TcpHome& home, Rank rank, int channels, const std::vector<Rank>& guests)
    : home_(home), rank_(rank), channels_(channels), deadline_(Clock::now() + patience) {
    if (guests.empty()) return;
    listener_ = listen_on({home.address, 0});
    for (const Rank guest : guests)
        for (int channel = 1; channel < channels; ++channel)
            expected_.push_back({guest, rank, TcpRole::data, channel});
}

void TcpOpening::visit(Rank peer, const TcpEndpoint& endpoint) {
    ++visited_;
    for (int channel = 1; channel < channels_; ++channel) {
        core::UniqueFd socket = begin_connecting(endpoint);
        const int descriptor = socket.get();
        visits_.push_back({std::move(socket), TcpApproach(descriptor, home_.job, {rank_, peer, TcpRole::data, channel})});
    }
}

std::optional<TcpOpening::Opened> TcpOpening::next() {
    if (auto opened = next_visit()) return opened;
    return next_guest();
}

bool TcpOpening::over(std::size_t hosts) const {
    return Clock::now() >= deadline_ || (expected_.empty() && visits_.empty() && visited_ >= hosts);
}

std::optional<TcpOpening::Opened> TcpOpening::next_visit() {
    for (auto visit = visits_.begin(); visit != visits_.end();) {
        const TcpState state = visit->approach.advance();
        if (state == TcpState::waiting) {
            ++visit;
            continue;
        }
        const TcpSeat seat = visit->approach.seat();
        Opened opened{seat.to, static_cast<std::size_t>(seat.channel), std::move(visit->socket)};
        visit = visits_.erase(visit);
        if (state == TcpState::accepted) return opened;
    }
    return {};
}

std::optional<TcpOpening::Opened> TcpOpening::next_guest() {
    if (expected_.empty()) return {};
    while (guests_.size() < most_guests) {
        core::UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!socket) break;
        guests_.emplace_back(std::move(socket), home_.job);
    }
    const auto now = Clock::now();
    for (auto guest = guests_.begin(); guest != guests_.end();) {
        const TcpState state = guest->advance();
        if (state == TcpState::waiting && now < guest->deadline()) {
            ++guest;
            continue;
        }
        TcpReception known = std::move(*guest);
        guest = guests_.erase(guest);
        if (state != TcpState::accepted) continue;
        if (auto opened = seated(known)) return opened;
    }
    return {};
}

std::optional<TcpOpening::Opened> TcpOpening::seated(TcpReception& guest) {
    const auto seat = std::ranges::find(expected_, guest.seat());
    if (seat == expected_.end()) return {};
    expected_.erase(seat);
    return Opened{guest.seat().from, static_cast<std::size_t>(guest.seat().channel), guest.take()};
}

}  // namespace attune::collectives
