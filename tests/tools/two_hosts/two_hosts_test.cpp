// The emulated link by itself, and jobs on two virtual hosts.
#include "libcore/error.hpp"
#include "libcore/file.hpp"
#include "tests/support/run_process.hpp"
#include "tests/tools/two_hosts/link_queue.hpp"
#include "tests/tools/two_hosts/rate.hpp"
#include "tests/tools/two_hosts/virtual_host.hpp"
#include "tests/tools/two_hosts/wire.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace attune::two_hosts {
namespace {

TEST(LinkQueue, APacketLeavesAfterItsSendingTimeAndTheDelay) {
    LinkQueue queue({.delay_ns = 500, .bits_per_second = 8e9, .queue_bytes = 1000});  // a byte in a nanosecond
    EXPECT_FALSE(queue.next());
    EXPECT_TRUE(queue.offer(100, Packet(10)));
    EXPECT_EQ(queue.next(), 610);
    EXPECT_FALSE(queue.take(609));
    EXPECT_EQ(queue.take(610)->size(), 10U);
    EXPECT_FALSE(queue.take(10'000));
}

TEST(LinkQueue, PacketsWaitForThoseBeforeThemAndKeepTheirOrder) {
    LinkQueue queue({.delay_ns = 0, .bits_per_second = 8e9, .queue_bytes = 1000});
    queue.offer(0, Packet(100));
    queue.offer(0, Packet(50));
    queue.offer(1000, Packet(1));
    EXPECT_EQ(queue.next(), 100);
    EXPECT_EQ(queue.take(2000)->size(), 100U);
    EXPECT_EQ(queue.next(), 150);
    EXPECT_EQ(queue.take(2000)->size(), 50U);
    EXPECT_EQ(queue.next(), 1001);  // the wire was idle in between
}

TEST(LinkQueue, WhatDoesNotFitIsLostAndRoomComesBack) {
    LinkQueue queue({.delay_ns = 0, .bits_per_second = 8e9, .queue_bytes = 100});
    EXPECT_TRUE(queue.offer(0, Packet(60)));
    EXPECT_FALSE(queue.offer(0, Packet(60)));
    EXPECT_EQ(queue.lost(), 1U);
    EXPECT_TRUE(queue.take(1000));
    EXPECT_TRUE(queue.offer(1000, Packet(60)));
}

TEST(Rate, IsReadInBitsOfPowersOfAThousand) {
    EXPECT_EQ(parse_rate("1Gbit"), 1e9);
    EXPECT_EQ(parse_rate("2.5Mbit"), 2.5e6);
    EXPECT_EQ(parse_rate("64Kbit"), 64e3);
    for (const char* text : {"", "1", "Gbit", "0Gbit", "-1Gbit", "1GB", "1Gbits"})
        EXPECT_THROW(parse_rate(text), core::Error) << text;
}

TEST(Wire, CarriesWholePacketsBothWays) {
    int first[2], second[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, first), 0);
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, second), 0);
    const core::UniqueFd host_a(first[0]), end_a(first[1]), host_b(second[0]), end_b(second[1]);
    Wire wire({.delay_ns = 1000, .bits_per_second = 8e9}, end_a.get(), end_b.get());
    ASSERT_EQ(::write(host_a.get(), "there", 5), 5);
    ASSERT_EQ(::write(host_b.get(), "back", 4), 4);
    wire.carry(0);
    char text[16] = {};
    EXPECT_LT(::read(host_b.get(), text, sizeof text), 0);
    EXPECT_EQ(wire.next(), 1004);
    wire.carry(1004);
    EXPECT_EQ(::read(host_a.get(), text, sizeof text), 4);
    EXPECT_LT(::read(host_b.get(), text, sizeof text), 0);
    wire.carry(1005);
    EXPECT_EQ(::read(host_b.get(), text, sizeof text), 5);
    EXPECT_EQ(std::string(text, 5), "there");
    EXPECT_EQ(wire.lost(), 0U);
}

class TwoHosts : public testing::Test {
protected:
    void SetUp() override {
        if (const auto reason = why_impossible()) GTEST_SKIP() << *reason;
    }
    static test::ProcessResult run(std::vector<std::string> words, const std::string& nodes = "4") {
        std::vector<std::string> all = {ATTUNE_TWO_HOSTS, "--delay", "0.1ms", "--rate", "1Gbit", "-n", nodes, "--"};
        all.insert(all.end(), words.begin(), words.end());
        return test::run_process(all);
    }
};

TEST_F(TwoHosts, EveryCollectiveIsRightAtTwoRanksOnEach) {
    const test::ProcessResult result = run({ATTUNE_COMMUNICATOR_PROGRAM, "cases"});
    EXPECT_EQ(result.code, 0) << result.err;
}

TEST_F(TwoHosts, RanksFindTheirNodesAndTheTransportThatJoinsThem) {
    EXPECT_EQ(run({ATTUNE_COMMUNICATOR_PROGRAM, "shape", "mixed 2x2"}).code, 0);
    EXPECT_EQ(run({ATTUNE_COMMUNICATOR_PROGRAM, "shape", "mixed 2,1"}, "3").code, 0);
    EXPECT_EQ(run({"sh", "-c", "test $RANK -lt 2 && test $WORLD_SIZE = 2 && test -n \"$MASTER_ADDR$MASTER_PORT\" && test -r $ATTUNE_SECRET_FILE"}, "2").code,
              0);
}

TEST_F(TwoHosts, TheLevelsOfAnAllReduceFollowTheHosts) {
    const test::ProcessResult result = run({ATTUNE_COMMUNICATOR_PROGRAM, "two_level"});
    EXPECT_EQ(result.code, 0) << result.err;
}

TEST_F(TwoHosts, ADeadRankIsNamedOnTheOtherHost) {
    const test::ProcessResult result = run({ATTUNE_COMMUNICATOR_PROGRAM, "death", "3"});
    EXPECT_EQ(result.code, 128 + SIGKILL);
    EXPECT_EQ(result.err, "");  // the others saw what they expected
}

TEST_F(TwoHosts, TheFirstFailureIsTheStatus) {
    EXPECT_EQ(run({"sh", "-c", "test $RANK != 1 || exit 5"}).code, 5);
    EXPECT_EQ(run({"no_such_program"}).code, 127);
    EXPECT_EQ(run({"true"}, "0").code, 2);
    EXPECT_EQ(test::run_process({ATTUNE_TWO_HOSTS, "-n", "2"}).code, 2);
}

// The first rank on each host writes where its secret lies and who it is, then all wait for the end.
TEST_F(TwoHosts, LeaveNothingBehindAfterASignal) {
    const test::TemporaryFolder folder;
    const std::string script = "echo $ATTUNE_SECRET_FILE >$0.part && mv $0.part $0.$RANK && sleep 1000";
    const pid_t process = ::fork();
    if (process == 0) {
        ::execl(ATTUNE_TWO_HOSTS, ATTUNE_TWO_HOSTS, "-n", "1", "--", "sh", "-c", script.c_str(), (folder.path() + "/rank").c_str(), nullptr);
        ::_exit(127);
    }
    const std::string told = folder.path() + "/rank.0";
    while (!std::filesystem::exists(told))
        std::this_thread::yield();
    std::string secret;
    std::ifstream(told) >> secret;
    EXPECT_TRUE(std::filesystem::exists(secret));
    ::kill(process, SIGTERM);
    int status = 0;
    ::waitpid(process, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 128 + SIGTERM);
    EXPECT_FALSE(std::filesystem::exists(secret));
}

}  // namespace
}  // namespace attune::two_hosts
