// Communicators of real processes over shared memory.
#include "collectives/communicator.hpp"
#include "collectives/launcher.hpp"
#include "tests/support/communicator_cases.hpp"
#include "tests/support/parameter_name.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <ostream>

namespace attune::collectives {
namespace {

LaunchOptions options_for(int ranks, const std::string& mode, const std::string& argument = "") {
    LaunchOptions options;
    options.ranks = ranks;
    options.command = {ATTUNE_COMMUNICATOR_PROGRAM, mode, argument};
    options.capture_output = true;
    return options;
}

int status_of(const LaunchOptions& options) {
    return Team::launch(options).wait();
}

class Processes : public testing::TestWithParam<int> {};

TEST_P(Processes, AreRightInEveryCase) {
    EXPECT_EQ(status_of(options_for(GetParam(), "cases")), 0);
}

TEST_P(Processes, GetTheSameBitsAsThreads) {
    auto team = Communicator::make_local(GetParam(), CommunicatorOptions());
    std::vector<std::uint64_t> hashes(static_cast<std::size_t>(GetParam()));
    test::on_threads(GetParam(),
                     [&](int rank) { hashes[static_cast<std::size_t>(rank)] = test::hash_of_rounding_results(*team[static_cast<std::size_t>(rank)]); });
    EXPECT_EQ(std::ranges::count(hashes, hashes.front()), GetParam());
    EXPECT_EQ(status_of(options_for(GetParam(), "hash", std::to_string(hashes.front()))), 0);
}
INSTANTIATE_TEST_SUITE_P(Ranks, Processes, testing::Range(1, 10));

// ATTUNE_TRANSPORT, empty = none named, and the node map.
struct Network {
    int ranks = 2;
    std::string transport, nodes;
    friend void PrintTo(const Network& network, std::ostream* out) { *out << network.ranks << ' ' << network.transport << ' ' << network.nodes; }
};
LaunchOptions options_for(const Network& network, const std::string& mode, const std::string& argument = "") {
    LaunchOptions options = options_for(network.ranks, mode, argument);
    options.node_map = network.nodes;
    options.environment = {{"ATTUNE_TRANSPORT", network.transport}};
    return options;
}

class NetworkProcesses : public testing::TestWithParam<Network> {};

TEST_P(NetworkProcesses, AreRightInEveryCase) {
    EXPECT_EQ(status_of(options_for(GetParam(), "cases")), 0);
}

TEST_P(NetworkProcesses, GetTheSameBitsAsThreads) {
    CommunicatorOptions options;
    options.node_map = GetParam().nodes;
    auto team = Communicator::make_local(GetParam().ranks, options);
    std::vector<std::uint64_t> hashes(static_cast<std::size_t>(GetParam().ranks));
    test::on_threads(GetParam().ranks,
                     [&](int rank) { hashes[static_cast<std::size_t>(rank)] = test::hash_of_rounding_results(*team[static_cast<std::size_t>(rank)]); });
    EXPECT_EQ(status_of(options_for(GetParam(), "hash", std::to_string(hashes.front()))), 0);
}

INSTANTIATE_TEST_SUITE_P(Kinds, NetworkProcesses,
                         testing::Values(Network{2, "tcp", ""}, Network{3, "tcp", ""}, Network{5, "tcp", ""}, Network{4, "", "2x2"},
                                         Network{5, "mixed", "2,2,1"}, Network{4, "mixed", "irregular:0,1,1,0"}, Network{9, "mixed", "3x3:cyclic"}),
                         [](const auto& info) {
                             return test::parameter_name(fmt::format("{}ranks{}{}", info.param.ranks, info.param.transport, info.param.nodes));
                         });

TEST(ProcessesTest, TakeTheTransportThatJoinsTheirNodes) {
    EXPECT_EQ(status_of(options_for({3, "", ""}, "shape", "shm 1x3")), 0);
    EXPECT_EQ(status_of(options_for({3, "", "2,1"}, "shape", "mixed 2,1")), 0);
    EXPECT_EQ(status_of(options_for({4, "tcp", "2x2:cyclic"}, "shape", "tcp 2x2:cyclic")), 0);
    EXPECT_EQ(status_of(options_for({2, "shm", "2x1"}, "shape", "shm 2x1")), 0);
    EXPECT_NE(status_of(options_for({2, "", "2x2"}, "shape", "mixed 2x2")), 0);  // another number of ranks
}

TEST(ProcessesTest, RepeatedCallsAllocateNothing) {
    EXPECT_EQ(status_of(options_for(1, "repeated_calls")), 0);
    EXPECT_EQ(status_of(options_for(3, "repeated_calls")), 0);
    EXPECT_EQ(status_of(options_for({3, "tcp", ""}, "repeated_calls")), 0);
    EXPECT_EQ(status_of(options_for({4, "mixed", "2x2"}, "repeated_calls")), 0);
}

TEST(ProcessesTest, ADeadRankIsNamedOnTheOthers) {
    Team team = Team::launch(options_for(4, "death", "2"));
    EXPECT_EQ(team.wait(), 128 + SIGKILL);
    for (const RankExit& exit : team.exits())
        EXPECT_EQ(exit.status, exit.rank == 2 ? 128 + SIGKILL : 0) << describe(exit);
}

TEST(ProcessesTest, KnowWhetherTheyAreBound) {
    const int cpus = static_cast<int>(core::allowed_cpus().cpus.size());
    EXPECT_EQ(status_of(options_for(std::min(cpus, 2), "bound", "bound")), 0);
    EXPECT_EQ(status_of(options_for(cpus + 1, "bound", "unbound")), 0);
    LaunchOptions options = options_for(2, "bound", "unbound");
    options.bind_to = BindTo::none;
    EXPECT_EQ(status_of(options), 0);
}

TEST(ProcessesTest, LeaveNothingInSharedMemory) {
    const auto files = [] {
        const std::filesystem::directory_iterator folder("/dev/shm");
        return std::distance(begin(folder), end(folder));
    };
    const auto before = files();
    status_of(options_for(2, "cases"));
    status_of(options_for(3, "death", "1"));
    EXPECT_EQ(files(), before);
}

}  // namespace
}  // namespace attune::collectives
