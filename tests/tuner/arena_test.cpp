// Real teams: every collective is right, the dead and the hanging are named, nothing is left behind.
#include "collectives/catalogue.hpp"
#include "collectives/default_config.hpp"
#include "collectives/sample_amounts.hpp"
#include "libcore/error.hpp"
#include "libcore/topology.hpp"
#include "tuner/arena_factory.hpp"
#include "tuner/traffic.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

namespace attune::tuner {
namespace {

TeamOptions team_of(int ranks, const std::string& transport = "shm") {
    TeamOptions options;
    options.ranks = ranks;
    options.transport = transport;
    return options;
}

collectives::Problem problem_of(collectives::Collective collective, int ranks, std::uint64_t count, bool in_place = false) {
    collectives::Problem problem;
    problem.collective = collective;
    problem.ranks = ranks;
    problem.count = collective == collectives::Collective::barrier ? 0 : count;
    problem.in_place = in_place;
    return problem;
}

// The problem with every kind of amounts it may have: none, or even and uneven blocks, with gaps, one alone, or nothing at all.
std::vector<collectives::Problem> shapes_of(const collectives::Problem& problem) {
    if (!collectives::has_amounts(problem.collective)) return {problem};
    std::vector<collectives::Problem> problems;
    for (const collectives::AmountsShape shape : collectives::all_amounts_shapes())
        problems.push_back(collectives::with_sample_amounts(problem, shape, problem.count));
    return problems;
}

// Every algorithm with the axes of the default.
Work all_algorithms(const collectives::Problem& problem) {
    const core::Config standard = collectives::default_config(problem, core::discover_topology());
    Work work{problem, {standard}};
    for (const collectives::Algorithm* algorithm : collectives::algorithms_for(problem.collective)) {
        core::Config config = standard;
        config.set("algorithm", algorithm->name);
        if (!collectives::reject(problem, config)) work.configs.push_back(config);
    }
    return work;
}

// Arena ranks that are children of this process.
std::vector<pid_t> rank_processes() {
    std::vector<pid_t> pids;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        const std::string name = entry.path().filename();
        if (name.find_first_not_of("0123456789") != std::string::npos) continue;
        std::ifstream stat(entry.path() / "stat");
        std::string text;
        std::getline(stat, text);
        const std::size_t after = text.rfind(')');
        if (after == std::string::npos || text.size() < after + 4) continue;
        if (std::stol(text.substr(after + 4)) != ::getpid()) continue;
        if (text[after + 2] != 'Z') pids.push_back(static_cast<pid_t>(std::stol(name)));
    }
    std::ranges::sort(pids);
    return pids;
}

void expect_right(Arena& arena, const collectives::Problem& problem) {
    const Work work = all_algorithms(problem);
    arena.load(work);
    for (std::size_t i = 0; i < work.configs.size(); ++i) {
        const CheckResult result = arena.check(i);
        EXPECT_EQ(result.outcome, CheckOutcome::ok) << name_of(problem.collective) << ' ' << work.configs[i].text() << " ranks " << problem.ranks << " count "
                                                    << problem.count << ": " << result.message;
        EXPECT_EQ(result.wrong, 0u);
    }
}

class ArenaOnTransport : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Transports, ArenaOnTransport, ::testing::Values("shm", "local"));

TEST_P(ArenaOnTransport, EveryAlgorithmIsExactForEveryEdgeCount) {
    for (const int ranks : {1, 2, 3, 5}) {
        const auto arena = launch_process_arena(team_of(ranks, GetParam()));
        for (const collectives::Collective collective : collectives::all_collectives()) {
            for (const std::uint64_t count : {0, 1, 2, 7, 1009}) {
                for (const bool in_place : {false, true}) {
                    if (in_place && !collectives::has_in_place(collective)) continue;
                    for (collectives::Problem problem : shapes_of(problem_of(collective, ranks, count, in_place))) {
                        problem.root = collectives::is_rooted(collective) ? static_cast<int>(count) % ranks : 0;
                        expect_right(*arena, problem);
                    }
                }
            }
        }
    }
}

TEST_P(ArenaOnTransport, SamplesArePositiveAndAsManyAsAskedFor) {
    const auto arena = launch_process_arena(team_of(2, GetParam()));
    arena->load(all_algorithms(problem_of(collectives::Collective::all_reduce, 2, 2)));
    const SampleResult result = arena->sample(0, {.iterations = 20});
    ASSERT_EQ(result.outcome, CheckOutcome::ok) << result.message;
    EXPECT_EQ(result.ns.size(), 20u);
    for (const double ns : result.ns)
        EXPECT_GT(ns, 0);
}

TEST_P(ArenaOnTransport, RootedBatchesStreamingAndRotationWork) {
    const auto arena = launch_process_arena(team_of(3, GetParam()));
    collectives::Problem problem = problem_of(collectives::Collective::broadcast, 3, 2);
    problem.root = 1;
    arena->load(all_algorithms(problem));
    for (const StartMode start : {StartMode::synchronized, StartMode::streaming}) {
        for (const CacheMode cache : {CacheMode::hot, CacheMode::rotate}) {
            const SampleResult result = arena->sample(0, {.iterations = 5, .batch = 8, .cache = cache, .start = start});
            ASSERT_EQ(result.outcome, CheckOutcome::ok) << result.message;
            EXPECT_EQ(result.ns.size(), start == StartMode::streaming ? 1u : 5u);
        }
    }
    EXPECT_EQ(arena->check(0).outcome, CheckOutcome::ok);  // sampling leaves no call half done
}

TEST_P(ArenaOnTransport, EveryTypeAndOperatorIsExact) {
    const auto arena = launch_process_arena(team_of(3, GetParam()));
    for (const core::DType dtype : core::all_dtypes()) {
        for (const core::Op op : core::all_ops()) {
            if (core::unsupported(dtype, op)) continue;
            collectives::Problem problem = problem_of(collectives::Collective::all_reduce, 3, 1009);
            problem.dtype = dtype;
            problem.op = op;
            expect_right(*arena, problem);
        }
    }
}

TEST_P(ArenaOnTransport, BatchesOfEveryCollectiveAndPatternEnd) {
    const auto arena = launch_process_arena(team_of(3, GetParam()));
    for (const collectives::Collective collective : collectives::all_collectives()) {
        for (collectives::Problem problem : shapes_of(problem_of(collective, 3, 5))) {
            problem.root = collectives::is_rooted(collective) ? 1 : 0;
            arena->load(all_algorithms(problem));
            const SampleResult result = arena->sample(0, {.iterations = 3, .batch = 20});
            ASSERT_EQ(result.outcome, CheckOutcome::ok) << name_of(collective) << ": " << result.message;
            EXPECT_EQ(result.ns.size(), 3u);
        }
    }
}

TEST_P(ArenaOnTransport, APingPongGoesThereAndBack) {
    const auto arena = launch_process_arena(team_of(3, GetParam()));
    const collectives::Problem problem = with_partners(problem_of(collectives::Collective::send_recv, 3, 0), PairPattern::one_way, 100);
    Work work = all_algorithms(problem);
    work.and_back = true;
    arena->load(work);
    EXPECT_EQ(arena->check(0).outcome, CheckOutcome::ok);
    const SampleResult result = arena->sample(0, {.iterations = 10, .batch = 4});
    ASSERT_EQ(result.outcome, CheckOutcome::ok) << result.message;
    EXPECT_EQ(result.ns.size(), 10u);
}

TEST_P(ArenaOnTransport, TimesOfRanksAndSkewedArrivalsAreThereWhenAskedFor) {
    const auto arena = launch_process_arena(team_of(2, GetParam()));
    arena->load(all_algorithms(problem_of(collectives::Collective::all_reduce, 2, 2)));
    EXPECT_TRUE(arena->sample(0, {.iterations = 4}).rank_ns.empty());
    for (const Skew skew : {Skew::none, Skew::uniform, Skew::one_late, Skew::ramp}) {
        const SampleResult result = arena->sample(0, {.iterations = 8, .skew = skew, .skew_ns = 50'000, .per_rank = true});
        ASSERT_EQ(result.outcome, CheckOutcome::ok) << result.message;
        ASSERT_EQ(result.rank_ns.size(), 2u);
        EXPECT_EQ(result.rank_ns[1].size(), 8u);
        EXPECT_TRUE(skew == Skew::none || result.batch == 1);
    }
}

TEST_P(ArenaOnTransport, ACopyTakesTimeUnlessItIsOfNothing) {
    const auto arena = launch_process_arena(team_of(2, GetParam()));
    EXPECT_EQ(arena->copy_ns(0), 0);
    EXPECT_GT(arena->copy_ns(64), 0);
    EXPECT_GT(arena->copy_ns(std::uint64_t{100} << 20), 1e5);  // a thousand bytes a nanosecond no memory moves
}

TEST_P(ArenaOnTransport, PingIsZeroForOneRankAndForMoreRanksThanCpus) {
    EXPECT_EQ(launch_process_arena(team_of(1, GetParam()))->ping(), 0);
    const int crowd = static_cast<int>(core::allowed_cpus().cpus.size()) + 1;
    const auto crowded = launch_process_arena(team_of(crowd, GetParam()));
    EXPECT_TRUE(crowded->oversubscribed());
    EXPECT_FALSE(crowded->bound());
    EXPECT_EQ(crowded->ping(), 0);
    if (core::allowed_cpus().cpus.size() < 2) return;
    EXPECT_GT(launch_process_arena(team_of(2, GetParam()))->ping(), 0);
}

TEST_P(ArenaOnTransport, MoreIterationsThanTheSharedRowsHoldAreTakenInPieces) {
    const auto arena = launch_process_arena(team_of(1, GetParam()));
    arena->load(all_algorithms(problem_of(collectives::Collective::all_reduce, 1, 1)));
    EXPECT_EQ(arena->sample(0, {.iterations = 9000, .batch = 1}).ns.size(), 9000u);
}

TEST_P(ArenaOnTransport, AConfigThatCannotRunFailsWithItsReason) {
    const auto arena = launch_process_arena(team_of(2, GetParam()));
    Work work = all_algorithms(problem_of(collectives::Collective::all_reduce, 2, 2));
    work.configs = {core::Config::parse("algorithm=no_such_thing")};
    arena->load(work);
    const SampleResult result = arena->sample(0, {});
    EXPECT_EQ(result.outcome, CheckOutcome::failed);
    EXPECT_NE(result.message.find("no_such_thing"), std::string::npos) << result.message;
    EXPECT_FALSE(arena->alive());
    EXPECT_EQ(arena->check(0).outcome, CheckOutcome::failed);
}

TEST_P(ArenaOnTransport, LaunchesHaveDifferentIds) {
    const auto first = launch_process_arena(team_of(1, GetParam()));
    const auto second = launch_process_arena(team_of(1, GetParam()));
    EXPECT_NE(first->launch(), second->launch());
}

TEST_P(ArenaOnTransport, AStoppedTeamIsKilledAtTheCap) {
    const auto arena = launch_process_arena(team_of(2, GetParam()));
    arena->load(all_algorithms(problem_of(collectives::Collective::all_reduce, 2, 2)));
    arena->set_cap_ns(200'000'000);
    ::kill(rank_processes().back(), SIGSTOP);
    const SampleResult result = arena->sample(0, {});
    EXPECT_EQ(result.outcome, CheckOutcome::timeout);
    EXPECT_FALSE(arena->alive());
    EXPECT_TRUE(rank_processes().empty());
}

TEST(ProcessArena, ADeadRankIsNamedWithItsSignal) {
    const auto arena = launch_process_arena(team_of(3));
    arena->load(all_algorithms(problem_of(collectives::Collective::all_reduce, 3, 2)));
    ::kill(rank_processes().at(1), SIGKILL);
    const CheckResult result = arena->check(0);
    EXPECT_EQ(result.outcome, CheckOutcome::failed);
    EXPECT_NE(result.message.find("rank 1"), std::string::npos) << result.message;
    EXPECT_NE(result.message.find("signal 9"), std::string::npos) << result.message;
    EXPECT_FALSE(arena->alive());
}

TEST(ProcessArena, NoProcessOutlivesItsArena) {
    {
        const auto arena = launch_process_arena(team_of(4));
        EXPECT_EQ(rank_processes().size(), 4u);
    }
    EXPECT_TRUE(rank_processes().empty());
}

TEST(ProcessArena, ATransportThatDoesNotExistIsAnErrorNotAHang) {
    EXPECT_THROW(launch_process_arena(team_of(2, "carrier_pigeon")), core::Error);
    EXPECT_TRUE(rank_processes().empty());
}

}  // namespace
}  // namespace attune::tuner
