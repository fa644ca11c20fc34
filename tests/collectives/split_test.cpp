// Sub-communicators: who is in them, what they inherit, and that all of them work at once and end in any order.
#include "collectives/communicator.hpp"
#include "libcore/error.hpp"
#include "tests/support/communicator_cases.hpp"
#include "tests/support/nested_rounds.hpp"
#include "tests/support/process_team.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

namespace attune::collectives {
namespace {

using test::on_threads;

CommunicatorOptions quiet() {
    CommunicatorOptions options;
    options.log = core::Log(core::LogLevel::warn, "test", [](std::string_view) {});
    return options;
}

bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

void on_team(int ranks, const std::function<void(Communicator&)>& body, const CommunicatorOptions& options = quiet()) {
    auto team = Communicator::make_local(ranks, options);
    const auto thrown = on_threads(ranks, [&](int rank) { body(*team[static_cast<std::size_t>(rank)]); });
    EXPECT_EQ(thrown, std::vector<std::string>(static_cast<std::size_t>(ranks)));
}

std::int64_t sum_of_ones(Communicator& team) {
    std::int64_t value = 1;
    Problem problem;
    problem.count = 1;
    problem.dtype = core::DType::int64;
    problem.in_place = true;
    team.run(problem, &value, &value);
    return value;
}

TEST(SplitTest, RanksOfAColorAreOrderedByKeyThenRank) {
    on_team(5, [](Communicator& team) {
        const auto child = team.split(team.rank() % 2, team.rank() == 4 ? -1 : 0);
        ASSERT_NE(child, nullptr);
        const std::vector<int> sizes = {3, 2, 3, 2, 3}, ranks = {1, 0, 2, 1, 0};
        EXPECT_EQ(child->size(), sizes[static_cast<std::size_t>(team.rank())]);
        EXPECT_EQ(child->rank(), ranks[static_cast<std::size_t>(team.rank())]);
        EXPECT_EQ(child->label(), team.rank() % 2 == 0 ? "communicator 2 of ranks 4,0,2" : "communicator 3 of ranks 1,3");
        EXPECT_EQ(sum_of_ones(*child), child->size());
    });
}

TEST(SplitTest, ANegativeColorIsInNone) {
    on_team(4, [](Communicator& team) {
        const auto child = team.split(team.rank() == 2 ? -1 : 0, 0);
        EXPECT_EQ(child == nullptr, team.rank() == 2);
        if (child) {
            EXPECT_EQ(sum_of_ones(*child), 3);
        }
        const auto nobody = team.split(-5, 0);
        EXPECT_EQ(nobody, nullptr);
    });
}

TEST(SplitTest, ARankMayBeAlone) {
    on_team(3, [](Communicator& team) {
        const auto alone = team.split(team.rank(), 0);
        EXPECT_EQ(alone->size(), 1);
        EXPECT_EQ(sum_of_ones(*alone), 1);
        const auto copy = alone->dup();
        EXPECT_EQ(sum_of_ones(*copy), 1);
        EXPECT_EQ(sum_of_ones(team), 3);
    });
}

TEST(SplitTest, NumbersAreNeverGivenTwice) {
    on_team(4, [](Communicator& team) {
        const auto half = team.split(team.rank() / 2, 0);
        const auto deeper = team.rank() < 2 ? half->split(0, 0) : nullptr;
        const auto copy = team.dup();
        EXPECT_EQ(half->number(), team.rank() < 2 ? 2U : 3U);
        if (deeper) {
            EXPECT_EQ(deeper->number(), 4U);
        }
        EXPECT_EQ(copy->number(), 5U);
        EXPECT_EQ(copy->label(), "communicator 5 of ranks 0,1,2,3");
    });
}

TEST(SplitTest, ChildrenMayOutliveTheirParents) {
    auto team = Communicator::make_local(3, quiet());
    std::vector<std::unique_ptr<Communicator>> children(3);
    on_threads(3, [&](int rank) { children[static_cast<std::size_t>(rank)] = team[static_cast<std::size_t>(rank)]->dup()->split(0, -rank); });
    team.clear();
    const auto thrown = on_threads(3, [&](int rank) { EXPECT_EQ(sum_of_ones(*children[static_cast<std::size_t>(rank)]), 3); });
    EXPECT_EQ(thrown, std::vector<std::string>(3));
}

// Rank 0 waits for the copy first, rank 1 for the team: each moves the other's call on.
TEST(SplitTest, CallsInFlightOfSeveralCommunicatorsMayBeAwaitedInAnyOrder) {
    on_team(2, [](Communicator& team) {
        const auto copy = team.dup();
        constexpr std::uint64_t count = 1'000'000;  // too long to be done by the start alone
        std::vector<float> input(count, 1), first(count), second(count);
        Problem problem;
        problem.count = count;
        const Ticket of_team = team.start(problem, input.data(), first.data());
        const Ticket of_copy = copy->start(problem, input.data(), second.data());
        if (team.rank() == 0) copy->wait(of_copy);
        team.wait(of_team);
        copy->wait(of_copy);
        EXPECT_EQ(std::ranges::count(first, 2.0F), static_cast<std::ptrdiff_t>(count));
        EXPECT_EQ(std::ranges::count(second, 2.0F), static_cast<std::ptrdiff_t>(count));
    });
}

// Each thread takes two communicators over that another thread made and used.
TEST(SplitTest, CommunicatorsMayMoveToAnotherThread) {
    auto team = Communicator::make_local(2, quiet());
    std::vector<std::unique_ptr<Communicator>> copies(2);
    on_threads(2, [&](int rank) { copies[static_cast<std::size_t>(rank)] = team[static_cast<std::size_t>(rank)]->dup(); });
    const auto thrown = on_threads(4, [&](int thread) {
        Communicator& own = thread < 2 ? *team[static_cast<std::size_t>(thread)] : *copies[static_cast<std::size_t>(thread - 2)];
        for (int i = 0; i < 200; ++i)
            EXPECT_EQ(sum_of_ones(own), 2);
    });
    EXPECT_EQ(thrown, std::vector<std::string>(4));
}

TEST(SplitTest, MessagesNameTheCommunicator) {
    auto team = Communicator::make_local(3, quiet());
    const auto thrown = on_threads(3, [&](int rank) {
        const auto child = team[static_cast<std::size_t>(rank)]->split(rank == 1 ? -1 : 0, 0);
        if (!child) return;
        std::vector<float> input(100), output(100);
        Problem problem;
        problem.count = rank == 0 ? 10 : 11;
        child->run(problem, input.data(), output.data());
    });
    EXPECT_EQ(thrown[1], "");
    for (const int rank : {0, 2}) {
        const std::string& error = thrown[static_cast<std::size_t>(rank)];
        EXPECT_TRUE(error.starts_with("communicator 2 of ranks 0,2: ")) << error;
        EXPECT_TRUE(contains(error, "all_reduce 10") && contains(error, "all_reduce 11")) << error;
    }
}

TEST(SplitTest, CheckedCallsNameTheCommunicatorToo) {
    CommunicatorOptions options = quiet();
    options.check_calls = true;
    auto team = Communicator::make_local(2, options);
    const auto thrown = on_threads(2, [&](int rank) {
        const auto child = team[static_cast<std::size_t>(rank)]->dup();
        Problem problem;
        problem.count = 1 + static_cast<std::uint64_t>(rank);
        std::vector<float> input(2), output(2);
        child->run(problem, input.data(), output.data());
    });
    for (const std::string& error : thrown)
        EXPECT_TRUE(error.starts_with("communicator 2 of ranks 0,1: ranks call different things: ")) << error;
}

// One rank splits while the other computes: nobody waits for ever.
TEST(SplitTest, ASplitThatNotAllRanksMakeIsNamed) {
    auto team = Communicator::make_local(2, quiet());
    const auto thrown = on_threads(2, [&](int rank) {
        if (rank == 0) team[0]->dup();
        if (rank == 1) sum_of_ones(*team[1]);
    });
    for (const std::string& error : thrown)
        EXPECT_TRUE(contains(error, "the making of a communicator") && contains(error, "all_reduce 1 int64")) << error;
}

TEST(SplitTest, TheTableIsInheritedAndReadOnce) {
    std::atomic<int> reads = 0;
    auto bootstraps = make_local_bootstraps(3);
    const auto thrown = on_threads(3, [&](int rank) {
        CommunicatorOptions options = quiet();
        options.transport = "local";
        options.table_source = [&] {
            ++reads;
            return TableResult{{}, "/some/file", {}, 0, ""};
        };
        Communicator team(*bootstraps[static_cast<std::size_t>(rank)], options);
        const auto child = team.split(rank == 1 ? 1 : 0, 0);
        EXPECT_EQ(child->table_origin(), "/some/file");
        EXPECT_EQ(child->chooser().facts().node_map, "1x" + std::to_string(child->size()));
        EXPECT_EQ(child->choice({}).config, team.choice({}).config);
    });
    EXPECT_EQ(thrown, std::vector<std::string>(3));
    EXPECT_EQ(reads, 1);
}

TEST(SplitTest, ProcessesSplitAndNestWithoutALauncher) {
    const auto results = test::run_processes(4, [](Bootstrap& bootstrap) -> std::string {
        auto team = std::make_unique<Communicator>(bootstrap, quiet());
        auto half = team->split(team->rank() % 2, 0);
        auto copy = half->dup();
        team.reset();
        if (sum_of_ones(*half) != 2 || sum_of_ones(*copy) != 2) return "wrong sum";
        half.reset();
        return sum_of_ones(*copy) == 2 ? "" : "wrong sum after the parents' end";
    });
    for (const test::RankResult& result : results)
        EXPECT_EQ(result.text, "");
}

TEST(NestedRoundsTest, ThreadsRunDifferentCollectivesAtOnce) {
    on_team(5, [](Communicator& team) { EXPECT_EQ(test::run_nested_rounds(team, 500), ""); });
}

TEST(NestedRoundsTest, ProcessesRunDifferentCollectivesAtOnce) {
    const auto results = test::run_processes(5, [](Bootstrap& bootstrap) {
        Communicator team(bootstrap, quiet());
        return test::run_nested_rounds(team, 500);
    });
    for (const test::RankResult& result : results)
        EXPECT_EQ(result.text, "");
}

// Parts of a mixed team may lie on one node or have one rank on each.
TEST(NestedRoundsTest, RanksOnSeveralNodesRunDifferentCollectivesAtOnce) {
    for (const auto& [transport, nodes] : std::vector<std::pair<std::string, std::string>>{{"tcp", ""}, {"mixed", "3,2"}, {"mixed", "2,2,1:cyclic"}}) {
        const auto results = test::run_processes(5, [&](Bootstrap& bootstrap) {
            CommunicatorOptions options = quiet();
            options.transport = transport;
            options.node_map = nodes;
            Communicator team(bootstrap, options);
            return test::run_nested_rounds(team, 60);
        });
        for (const test::RankResult& result : results)
            EXPECT_EQ(result.text, "") << transport << " " << nodes;
    }
}

TEST(SplitTest, PartsKnowTheirNodesAndTheTransportThatIsLeft) {
    const auto results = test::run_processes(4, [](Bootstrap& bootstrap) -> std::string {
        CommunicatorOptions options = quiet();
        options.transport = "mixed";
        options.node_map = "2x2";
        Communicator team(bootstrap, options);
        const auto node = team.split(team.rank() / 2, 0), across = team.split(team.rank() % 2, 0), three = team.split(team.rank() == 3 ? 1 : 0, 0);
        const auto facts = [](const Communicator& part) { return part.chooser().facts().transport + " " + part.chooser().facts().node_map; };
        const std::string of_three = team.rank() == 3 ? "mixed 1x1" : "mixed 2,1";
        const std::string got = facts(*node) + ", " + facts(*across) + ", " + facts(*three);
        if (sum_of_ones(*node) != 2 || sum_of_ones(*across) != 2 || sum_of_ones(*three) != three->size()) return "wrong sum";
        return got == "shm 1x2, tcp 2x1, " + of_three ? "" : got;
    });
    for (const test::RankResult& result : results)
        EXPECT_EQ(result.text, "");
}

TEST(SlowNestedRounds, ThreadsRunTenThousand) {
    on_team(5, [](Communicator& team) { EXPECT_EQ(test::run_nested_rounds(team, 10'000), ""); });
}

TEST(SlowNestedRounds, ProcessesRunTenThousand) {
    const auto results = test::run_processes(5, [](Bootstrap& bootstrap) {
        Communicator team(bootstrap, quiet());
        return test::run_nested_rounds(team, 10'000);
    });
    for (const test::RankResult& result : results)
        EXPECT_EQ(result.text, "");
}

}  // namespace
}  // namespace attune::collectives
