// How the ranks of a tcp team agree, find and prove each other.
#include "collectives/bootstrap.hpp"
#include "collectives/host.hpp"
#include "collectives/transport/tcp_listener.hpp"
#include "collectives/transport/tcp_team.hpp"
#include "libcore/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <span>
#include <sstream>

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
    std::array<char, 128> congestion_controls{};  // words that this rank may choose
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
    std::vector<std::string> congestion_controls;  // of all ranks
};

// Words that do not fit stay out.
void write_words(const std::vector<std::string>& words, std::span<char> text) {
    std::size_t end = 0;
    for (const std::string& word : words) {
        if (end + word.size() + 1 >= text.size()) return;
        std::ranges::copy(word + " ", text.begin() + static_cast<std::ptrdiff_t>(end));
        end += word.size() + 1;
    }
}

std::vector<std::string> read_words(std::span<const char> text) {
    std::istringstream stream(std::string(text.begin(), std::ranges::find(text, '\0')));
    return {std::istream_iterator<std::string>(stream), {}};
}

Meeting introduce_all(Bootstrap& bootstrap, const TcpLayout& layout) {
    Introduction own{::getpid(), layout, this_host().network, 0, {}, {}};
    write_words(congestion_controls_here(), own.congestion_controls);
    core::random_bytes(std::as_writable_bytes(std::span(&own.job, 1)));
    if (!bootstrap.secret()) core::random_bytes(own.secret);
    const std::vector<Contribution> all = bootstrap.all_gather(std::as_bytes(std::span(&own, 1)), {});
    Meeting meeting{layout, bootstrap.rank(), {}, true, {}, congestion_controls_here()};
    for (Rank rank = 0; rank < bootstrap.size(); ++rank) {
        const Introduction introduction = introduction_of(all[static_cast<std::size_t>(rank)], rank);
        check_layout(layout, introduction.layout, rank);
        if (rank == 0) meeting.job = {bootstrap.secret().value_or(introduction.secret), introduction.job};
        meeting.one_host = meeting.one_host && introduction.host == own.host;
        meeting.processes.push_back(introduction.process);
        const std::vector<std::string> there = read_words(introduction.congestion_controls);
        std::erase_if(meeting.congestion_controls, [&](const std::string& name) { return std::ranges::find(there, name) == there.end(); });
    }
    return meeting;
}

std::string listening_address(const Bootstrap& bootstrap, const NetworkOptions& network, bool one_host) {
    if (!network.interface.empty()) return interface_address(network.interface);
    if (one_host) return loopback_address;
    if (!bootstrap.address().empty()) return bootstrap.address();
    throw Error(ErrorCode::usage, "the ranks are on several hosts and it is unknown which network joins them; set ATTUNE_INTERFACE");
}

// Of each pair of ranks the higher one connects to the lower one.
std::vector<core::UniqueFd> connect_all(const Meeting& meeting, TcpListener& listener, const std::vector<TcpEndpoint>& endpoints, const PeerFilter& wanted) {
    const TcpDeadline deadline = std::chrono::steady_clock::now() + bootstrap_patience;
    std::vector<core::UniqueFd> sockets(static_cast<std::size_t>(meeting.layout.ranks));
    for (Rank peer = 0; peer < meeting.rank; ++peer) {
        const auto place = static_cast<std::size_t>(peer);
        if (wanted(peer)) sockets[place] = dial(endpoints[place], meeting.job, {meeting.rank, peer, TcpRole::data, 0}, deadline);
    }
    std::vector<TcpSeat> expected;
    for (Rank peer = meeting.rank + 1; peer < meeting.layout.ranks; ++peer)
        if (wanted(peer)) expected.push_back({peer, meeting.rank, TcpRole::data, 0});
    std::vector<core::UniqueFd> accepted = listener.accept(meeting.job, expected, deadline);
    for (std::size_t i = 0; i < expected.size(); ++i)
        sockets[static_cast<std::size_t>(expected[i].from)] = std::move(accepted[i]);
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

TcpTeam make_tcp_team(Bootstrap& bootstrap, const TransportOptions& options, const PeerFilter& wanted) {
    const Meeting meeting = introduce_all(bootstrap, TcpLayout::make(bootstrap.size(), options));
    const std::string address = listening_address(bootstrap, options.network, meeting.one_host);
    TcpListener listener({address, 0}, options.network.warn);
    const std::vector<TcpEndpoint> endpoints = exchange_endpoints(bootstrap, listener.endpoint());
    TcpTeam team;
    team.layout = meeting.layout;
    team.rank = meeting.rank;
    team.oversubscribed = options.oversubscribed;
    team.sockets = connect_all(meeting, listener, endpoints, wanted);
    team.processes = meeting.processes;
    team.home = {address, meeting.job};
    team.defaults = TcpDefaults::make(options.network, meeting.one_host);
    team.congestion_controls = meeting.congestion_controls;
    for (const core::UniqueFd& socket : team.sockets)
        if (socket) set_up_stream(socket.get(), team.defaults);
    return team;
}

std::unique_ptr<Transport> make_tcp_transport(Bootstrap& bootstrap, const TransportOptions& options) {
    return std::make_unique<TcpTransport>(make_tcp_team(bootstrap, options, [](Rank) { return true; }));
}

}  // namespace attune::collectives
