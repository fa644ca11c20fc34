// How the ranks of a tcp team agree, find and prove each other.
#include "collectives/bootstrap.hpp"
#include "collectives/host.hpp"
#include "collectives/transport/tcp_listener.hpp"
#include "collectives/transport/tcp_team.hpp"
#include "libcore/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace attune::collectives {

namespace {

using core::Error;
using core::ErrorCode;

// What a rank tells before it listens. Only rank 0's secret counts, and only where contributions are private.
struct Introduction {
    std::int64_t process = 0;
    TcpLayout layout;
    std::uint64_t host = 0;  // equal = the same loopback
    std::uint64_t job = 0;
    core::Digest secret{};
};

Introduction introduction_of(const Contribution& contribution, Rank rank) {
    Introduction introduction;
    if (contribution.bytes.size() != sizeof introduction)
        throw Error(ErrorCode::failure, fmt::format("rank {} introduced itself in another way; run the same build on every rank", rank));
    std::memcpy(&introduction, contribution.bytes.data(), sizeof introduction);
    return introduction;
}

void check_layout(const TcpLayout& own, const TcpLayout& other, Rank rank) {
    if (own == other) return;
    throw Error(ErrorCode::failure,
                fmt::format("rank {} laid out its connections for {} ranks, {} channels and {}-byte fragments, this rank for {}, {} and {}; "
                            "pass equal transport options on every rank",
                            rank, other.ranks, other.channels, other.fragment_bytes, own.ranks, own.channels, own.fragment_bytes));
}

// Everything that is known before the first connection.
struct Meeting {
    TcpLayout layout;
    Rank rank = 0;
    TcpJob job;
    bool one_host = true;
    std::vector<std::int64_t> processes;
};

Meeting introduce_all(Bootstrap& bootstrap, const TcpLayout& layout) {
    Introduction own{::getpid(), layout, this_host().network, 0, {}};
    core::random_bytes(std::as_writable_bytes(std::span(&own.job, 1)));
    if (!bootstrap.secret()) core::random_bytes(own.secret);
    const std::vector<Contribution> all = bootstrap.all_gather(std::as_bytes(std::span(&own, 1)), {});
    Meeting meeting{layout, bootstrap.rank(), {}, true, {}};
    for (Rank rank = 0; rank < bootstrap.size(); ++rank) {
        const Introduction introduction = introduction_of(all[static_cast<std::size_t>(rank)], rank);
        check_layout(layout, introduction.layout, rank);
        if (rank == 0) meeting.job = {bootstrap.secret().value_or(introduction.secret), introduction.job};
        meeting.one_host = meeting.one_host && introduction.host == own.host;
        meeting.processes.push_back(introduction.process);
    }
    return meeting;
}

std::string listening_address(const Bootstrap& bootstrap, const NetworkOptions& network, bool one_host) {
    if (!network.interface.empty()) return interface_address(network.interface);
    if (one_host) return loopback_address;
    if (!bootstrap.address().empty()) return bootstrap.address();
    throw Error(ErrorCode::usage, "the ranks are on several hosts and it is unknown which network joins them; set ATTUNE_INTERFACE");
}

// On a loopback device the system's defaults (pacing, small first windows) cost a factor 1.7 at 2 MiB; real networks keep what their owner chose.
void set_options(int socket, const NetworkOptions& network, bool one_host) {
    const int yes = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
    // A host that vanished without a word is noticed after about 40 s.
    const int idle_s = 10, interval_s = 5, probes = 6;
    ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
    ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    apply_socket_options(socket, network.socket_buffer_bytes != 0 || !one_host ? network.socket_buffer_bytes : loopback_buffer_bytes,
                         network.congestion_control.empty() && one_host ? "cubic" : network.congestion_control);
}

// Seats of one pair of ranks: the higher one connects to the lower one.
std::vector<TcpSeat> seats_of(Rank from, Rank to, int channels) {
    std::vector<TcpSeat> seats;
    for (int channel = 0; channel < channels; ++channel)
        seats.push_back({from, to, TcpRole::data, channel});
    return seats;
}

std::vector<core::UniqueFd> connect_all(const Meeting& meeting, TcpListener& listener, const std::vector<TcpEndpoint>& endpoints, const PeerFilter& wanted) {
    const TcpDeadline deadline = std::chrono::steady_clock::now() + bootstrap_patience;
    const int channels = meeting.layout.channels;
    std::vector<core::UniqueFd> sockets(static_cast<std::size_t>(meeting.layout.ranks) * static_cast<std::size_t>(channels));
    const auto place = [&](Rank peer, int channel) -> core::UniqueFd& {
        return sockets[static_cast<std::size_t>(peer) * static_cast<std::size_t>(channels) + static_cast<std::size_t>(channel)];
    };
    for (Rank peer = 0; peer < meeting.rank; ++peer) {
        if (!wanted(peer)) continue;
        for (const TcpSeat& seat : seats_of(meeting.rank, peer, channels))
            place(peer, seat.channel) = dial(endpoints[static_cast<std::size_t>(peer)], meeting.job, seat, deadline);
    }
    std::vector<TcpSeat> expected;
    for (Rank peer = meeting.rank + 1; peer < meeting.layout.ranks; ++peer)
        if (wanted(peer)) std::ranges::copy(seats_of(peer, meeting.rank, channels), std::back_inserter(expected));
    std::vector<core::UniqueFd> accepted = listener.accept(meeting.job, expected, deadline);
    for (std::size_t i = 0; i < expected.size(); ++i)
        place(expected[i].from, expected[i].channel) = std::move(accepted[i]);
    return sockets;
}

std::vector<TcpEndpoint> exchange_endpoints(Bootstrap& bootstrap, const TcpEndpoint& own) {
    const std::string text = own.text();
    std::vector<TcpEndpoint> endpoints;
    for (const Contribution& contribution : bootstrap.all_gather(std::as_bytes(std::span(text)), {}))
        endpoints.push_back(TcpEndpoint::parse({reinterpret_cast<const char*>(contribution.bytes.data()), contribution.bytes.size()}));
    return endpoints;
}

}  // namespace

void apply_socket_options(int socket, std::uint64_t buffer_bytes, const std::string& congestion_control) noexcept {
    if (buffer_bytes != 0) {
        const int bytes = static_cast<int>(std::min<std::uint64_t>(buffer_bytes, std::uint64_t{1} << 30));
        ::setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
        ::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    }
    if (!congestion_control.empty())
        ::setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, congestion_control.data(), static_cast<socklen_t>(congestion_control.size()));
}

TcpTeam make_tcp_team(Bootstrap& bootstrap, const TransportOptions& options, const PeerFilter& wanted) {
    const Meeting meeting = introduce_all(bootstrap, TcpLayout::make(bootstrap.size(), options));
    TcpListener listener({listening_address(bootstrap, options.network, meeting.one_host), 0}, options.network.warn);
    const std::vector<TcpEndpoint> endpoints = exchange_endpoints(bootstrap, listener.endpoint());
    TcpTeam team{meeting.layout, meeting.rank, options.oversubscribed, connect_all(meeting, listener, endpoints, wanted), meeting.processes};
    for (const core::UniqueFd& socket : team.sockets)
        if (socket) set_options(socket.get(), options.network, meeting.one_host);
    return team;
}

std::unique_ptr<Transport> make_tcp_transport(Bootstrap& bootstrap, const TransportOptions& options) {
    return std::make_unique<TcpTransport>(make_tcp_team(bootstrap, options, [](Rank) { return true; }));
}

}  // namespace attune::collectives
