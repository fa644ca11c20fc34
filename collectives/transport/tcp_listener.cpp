#include "collectives/transport/tcp_listener.hpp"

#include "libcore/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include <poll.h>
#include <sys/socket.h>

namespace attune::collectives {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t most_receptions = 256;  // a flood of strangers takes no more descriptors than this
constexpr int most_lines = 20;

}  // namespace

struct TcpListener::Round {
    const TcpJob& job;
    const std::vector<TcpSeat>& seats;
    std::vector<core::UniqueFd> sockets{};
    std::vector<std::unique_ptr<TcpReception>> receptions{};  // null = over

    bool complete() const {
        return std::ranges::all_of(sockets, [](const core::UniqueFd& socket) { return static_cast<bool>(socket); });
    }
    std::vector<pollfd> entries(int listener) const {
        std::vector<pollfd> entries = {{receptions.size() < most_receptions ? listener : -1, POLLIN, 0}};
        for (const auto& reception : receptions)
            entries.push_back({reception->descriptor(), POLLIN, 0});
        return entries;
    }
    std::string missing() const {
        std::vector<Rank> ranks;
        for (std::size_t seat = 0; seat < seats.size(); ++seat)
            if (!sockets[seat] && (ranks.empty() || ranks.back() != seats[seat].from)) ranks.push_back(seats[seat].from);
        return fmt::format("{}", fmt::join(ranks, ", "));
    }
};

TcpListener::TcpListener(const TcpEndpoint& endpoint, Warn warn) : socket_(listen_on(endpoint)), warn_(std::move(warn)) {}

std::vector<core::UniqueFd> TcpListener::accept(const TcpJob& job, const std::vector<TcpSeat>& seats, TcpDeadline deadline) {
    Round round{job, seats};
    round.sockets.resize(seats.size());
    constexpr int tick_ms = 100;  // for the deadlines of receptions
    while (!round.complete()) {
        if (Clock::now() >= deadline)
            throw core::Error(core::ErrorCode::failure, fmt::format("no connection from rank {} to {} came in time", round.missing(), endpoint().text()));
        std::vector<pollfd> entries = round.entries(socket_.get());
        if (::poll(entries.data(), entries.size(), tick_ms) > 0) {
            for (std::size_t i = 1; i < entries.size(); ++i)
                if (entries[i].revents != 0) advance(round, *round.receptions[i - 1]);
            if (entries.front().revents != 0) take_new(round);
        }
        drop_late(round);
    }
    return std::move(round.sockets);
}

void TcpListener::take_new(Round& round) {
    while (round.receptions.size() < most_receptions) {
        core::UniqueFd socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!socket) return;
        round.receptions.push_back(std::make_unique<TcpReception>(std::move(socket), round.job));
    }
}

void TcpListener::advance(Round& round, TcpReception& reception) {
    const TcpState state = reception.advance();
    if (state == TcpState::waiting) return;
    core::UniqueFd socket = reception.take();
    if (state == TcpState::refused) return drop(socket.get(), reception.reason());
    const auto seat = std::ranges::find(round.seats, reception.seat());
    const auto index = static_cast<std::size_t>(seat - round.seats.begin());
    if (seat == round.seats.end() || round.sockets[index])
        return drop(socket.get(), fmt::format("nobody expects rank {} for rank {} on channel {} (again)", reception.seat().from, reception.seat().to,
                                              reception.seat().channel));
    round.sockets[index] = std::move(socket);
}

void TcpListener::drop_late(Round& round) {
    const auto now = Clock::now();
    for (const auto& reception : round.receptions) {
        if (reception->descriptor() < 0 || now < reception->deadline()) continue;
        const core::UniqueFd socket = reception->take();
        drop(socket.get(), fmt::format("it did not introduce itself within {} s", handshake_patience.count() / 1000));
    }
    std::erase_if(round.receptions, [](const auto& reception) { return reception->descriptor() < 0; });
}

void TcpListener::drop(int descriptor, const std::string& reason) {
    if (++dropped_ > most_lines || !warn_) return;
    const std::string more = dropped_ == most_lines ? "; further ones are dropped without a line" : "";
    warn_(fmt::format("a connection from {} was dropped: {}{}", remote_endpoint(descriptor).text(), reason, more));
}

core::UniqueFd dial(const TcpEndpoint& endpoint, const TcpJob& job, const TcpSeat& seat, TcpDeadline deadline) {
    core::UniqueFd socket = connect_to(endpoint, deadline);
    introduce(socket.get(), job, seat, deadline);
    return socket;
}

}  // namespace attune::collectives
