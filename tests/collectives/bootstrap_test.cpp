// The bootstrap for threads, and the launcher form against a hub that is gone or speaks otherwise.
#include "collectives/bootstrap.hpp"

#include "collectives/bootstrap_wire.hpp"
#include "libcore/error.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

namespace attune::collectives {
namespace {

using namespace std::chrono_literals;

std::vector<std::byte> bytes_of(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

void on_threads(int ranks, const std::function<void(Rank)>& body) {
    std::vector<std::thread> threads;
    for (Rank rank = 0; rank < ranks; ++rank)
        threads.emplace_back(body, rank);
    for (std::thread& thread : threads)
        thread.join();
}

std::string failure_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const core::Error& error) {
        return error.what();
    }
    return "no error";
}

TEST(LocalBootstrapTest, GivesEveryThreadAllContributionsOverManyRounds) {
    for (const int ranks : {1, 2, 3, 8, 9}) {
        auto bootstraps = make_local_bootstraps(ranks);
        on_threads(ranks, [&](Rank rank) {
            Bootstrap& own = *bootstraps[static_cast<std::size_t>(rank)];
            for (int round = 0; round < 50; ++round) {
                const auto all = own.all_gather(bytes_of(std::to_string(rank * 1000 + round)), {});
                ASSERT_EQ(all.size(), static_cast<std::size_t>(ranks));
                for (Rank from = 0; from < ranks; ++from)
                    ASSERT_EQ(all[static_cast<std::size_t>(from)].bytes, bytes_of(std::to_string(from * 1000 + round)));
            }
        });
    }
}

TEST(LocalBootstrapTest, DuplicatesDescriptorsAndLeavesTheCallersOwn) {
    auto bootstraps = make_local_bootstraps(2);
    on_threads(2, [&](Rank rank) {
        const int memory = ::memfd_create("test", MFD_CLOEXEC);
        ASSERT_EQ(::pwrite(memory, rank == 0 ? "zero" : "one!", 4, 0), 4);
        const auto all = bootstraps[static_cast<std::size_t>(rank)]->all_gather({}, std::vector<int>{memory});
        for (const Rank from : {0, 1}) {
            char text[5] = {};
            const int received = all[static_cast<std::size_t>(from)].descriptors.at(0);
            EXPECT_NE(received, memory);
            EXPECT_EQ(::pread(received, text, 4, 0), 4);
            EXPECT_STREQ(text, from == 0 ? "zero" : "one!");
            EXPECT_NE(::fcntl(received, F_GETFD) & FD_CLOEXEC, 0);
            ::close(received);
        }
        EXPECT_EQ(::close(memory), 0);
    });
}

TEST(LocalBootstrapTest, ARankThatEndedIsNamed) {
    auto bootstraps = make_local_bootstraps(3);
    bootstraps[1].reset();
    EXPECT_NE(failure_of([&] { bootstraps[0]->all_gather({}, {}); }).find("rank 1 has ended"), std::string::npos);
}

TEST(LocalBootstrapTest, GivesUpAfterItsPatience) {
    auto bootstraps = make_local_bootstraps(2, 1ms);
    EXPECT_NE(failure_of([&] { bootstraps[0]->all_gather({}, {}); }).find("not all ranks arrived within 0.001 s"), std::string::npos);
}

TEST(LocalBootstrapTest, WhatOneRankGaveUpSucceedsOnNone) {
    auto bootstraps = make_local_bootstraps(2, 1ms);
    EXPECT_THROW(bootstraps[0]->all_gather({}, {}), core::Error);
    EXPECT_NE(failure_of([&] { bootstraps[1]->all_gather({}, {}); }).find("not all ranks arrived"), std::string::npos);
}

TEST(LocalBootstrapTest, RefusesContributionsOverTheLimits) {
    auto bootstraps = make_local_bootstraps(1);
    const std::vector<std::byte> large(bootstrap_bytes_limit + 1);
    EXPECT_NE(failure_of([&] { bootstraps[0]->all_gather(large, {}); }).find("over the limit of 32768"), std::string::npos);
    const std::vector<int> many(5, 0);
    EXPECT_NE(failure_of([&] { bootstraps[0]->all_gather({}, many); }).find("over the limit of 4"), std::string::npos);
    EXPECT_THROW(make_local_bootstraps(0), core::Error);
}

struct Ends {
    int rank = -1, hub = -1;
    Ends() {
        int sockets[2];
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
        rank = sockets[0];
        hub = sockets[1];
    }
    ~Ends() {
        ::close(rank);
        if (hub >= 0) ::close(hub);
    }
    void hang_up() {
        ::close(hub);
        hub = -1;
    }
};

TEST(LauncherBootstrapTest, NobodyAtTheOtherEndIsAnError) {
    Ends ends;
    const auto bootstrap = make_launcher_bootstrap(0, 2, ends.rank);
    ends.hang_up();
    EXPECT_NE(failure_of([&] { bootstrap->all_gather({}, {}); }).find("the launcher is gone"), std::string::npos);
    EXPECT_NE(failure_of([&] { make_launcher_bootstrap(0, 2, ends.rank); }).find("not connected to a launcher"), std::string::npos);
    EXPECT_NE(failure_of([] { make_launcher_bootstrap(0, 2, -1); }).find("not connected to a launcher"), std::string::npos);
}

TEST(LauncherBootstrapTest, ImpossibleRanksAreUsageErrors) {
    const Ends ends;
    for (const auto& [rank, size] : {std::pair{2, 2}, {-1, 2}, {0, 0}})
        EXPECT_NE(failure_of([&, r = rank, s = size] { make_launcher_bootstrap(r, s, ends.rank); }).find("makes no sense"), std::string::npos);
}

TEST(LauncherBootstrapTest, GivesUpAfterItsPatience) {
    const Ends ends;
    const auto bootstrap = make_launcher_bootstrap(0, 2, ends.rank, 1ms);
    EXPECT_NE(failure_of([&] { bootstrap->all_gather({}, {}); }).find("not all ranks arrived"), std::string::npos);
}

// A team of 256 ranks keeps 65,536 of them.
TEST(LauncherBootstrapTest, AReceivedPacketKeepsNoMoreMemoryThanItNeeds) {
    const Ends ends;
    const std::vector<std::byte> small(8), large(bootstrap_bytes_limit, std::byte{7});
    Packet packet;
    ASSERT_EQ(send_packet(ends.hub, {}, small, {}), SendState::sent);
    ASSERT_EQ(receive_packet(ends.rank, packet), ReceiveState::received);
    EXPECT_EQ(packet.content.bytes, small);
    EXPECT_LE(packet.content.bytes.capacity(), 64U);
    ASSERT_EQ(send_packet(ends.hub, {}, large, {}), SendState::sent);
    ASSERT_EQ(receive_packet(ends.rank, packet), ReceiveState::received);
    EXPECT_EQ(packet.content.bytes, large);
    EXPECT_EQ(receive_packet(ends.rank, packet), ReceiveState::empty);
}

TEST(LauncherBootstrapTest, ForeignAndMalformedPacketsAreErrors) {
    {
        const Ends ends;
        const auto bootstrap = make_launcher_bootstrap(0, 1, ends.rank);
        ASSERT_EQ(::send(ends.hub, "hello", 5, 0), 5);
        EXPECT_NE(failure_of([&] { bootstrap->all_gather({}, {}); }).find("unexpected data"), std::string::npos);
    }
    const Ends ends;
    const auto bootstrap = make_launcher_bootstrap(0, 1, ends.rank);
    PacketHeader header;
    header.kind = PacketKind::contribution;
    header.length = 100;  // announces more than it carries
    ASSERT_EQ(::send(ends.hub, &header, sizeof header, 0), static_cast<ssize_t>(sizeof header));
    EXPECT_NE(failure_of([&] { bootstrap->all_gather({}, {}); }).find("malformed bootstrap packet"), std::string::npos);
}

TEST(LauncherBootstrapTest, AnAnswerToAnotherExchangeIsAnError) {
    const Ends ends;
    const auto bootstrap = make_launcher_bootstrap(0, 1, ends.rank);
    PacketHeader header;
    header.kind = PacketKind::contribution;
    header.sequence = 7;
    ASSERT_EQ(send_packet(ends.hub, header, {}, {}), SendState::sent);
    EXPECT_NE(failure_of([&] { bootstrap->all_gather({}, {}); }).find("contribution 7 of rank 0 arrived instead of 0 of rank 0"), std::string::npos);
}

}  // namespace
}  // namespace attune::collectives
