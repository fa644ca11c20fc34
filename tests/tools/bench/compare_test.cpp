// Comparisons on a modelled machine: launches, stopping, verdicts, and which published rows are re-tested.
#include "apps/tools/bench/compare.hpp"
#include "apps/tools/bench/compare_report.hpp"
#include "collectives/default_config.hpp"
#include "libcore/error.hpp"
#include "tests/support/run_process.hpp"
#include "tests/tuner/fake_arena.hpp"
#include "tests/tools/bench/planted_release.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace attune::tools::bench {
namespace {

// Each launch is a machine with another seed. Candidate 1 is the tuned one.
class FakeTeams final : public Teams {
public:
    explicit FakeTeams(tuner::FakeMachine machine) : machine_(std::move(machine)) {}
    tuner::Arena& team(const tuner::TeamOptions& options) override { return arena_ ? *arena_ : fresh(options); }
    tuner::Arena& fresh(const tuner::TeamOptions&) override {
        ++launches;
        machine_.seed += 17;
        arena_ = std::make_unique<tuner::FakeArena>(machine_, "launch" + std::to_string(launches));
        arena_->dies_at = dies_at;
        return *arena_;
    }
    int launches = 0;
    std::uint64_t dies_at = 0;

private:
    tuner::FakeMachine machine_;
    std::unique_ptr<tuner::FakeArena> arena_;
};

Pair example_pair(const std::string& tuned = "algorithm=ring") {
    Pair pair;
    pair.problem.ranks = 2;
    pair.problem.count = 1 << 20;
    pair.default_config = core::Config::parse("algorithm=two_shot");
    pair.tuned_config = core::Config::parse(tuned);
    return pair;
}

Pair measured(FakeTeams& teams, std::int64_t budget_ns = 60'000'000'000, const Pair& pair = example_pair()) {
    const Options options;
    const Machine machine;
    std::vector<Pair> pairs = {pair};
    CompareContext context{options, machine, teams, {}, {}, {}};
    context.effort.budget_ns = budget_ns;
    measure_pairs(context, pairs);
    return pairs.front();
}

TEST(Compare, APlantedSlowRowIsCaughtTenTimesOfTen) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        FakeTeams teams({.true_ns = {20'000, 25'000}, .noise = 0.2, .seed = seed});
        const Pair pair = measured(teams);
        EXPECT_EQ(pair.result.verdict, tuner::Verdict::slower) << pair.result.ratio << " floor " << pair.result.floor;
        EXPECT_EQ(exit_code(count_verdicts({pair}), true), 4);
    }
}

TEST(Compare, SettledMeansThreeLaunchesFifteenBlocksAndAFloorBelowTheLimit) {
    FakeTeams teams({.noise = 0.1});
    const Pair pair = measured(teams);
    EXPECT_GE(teams.launches, 3);
    EXPECT_GE(pair.result.launches, 3u);
    EXPECT_GE(pair.result.blocks, 15u);
    EXPECT_LE(pair.result.floor, 0.05);
    EXPECT_EQ(pair.result.verdict, tuner::Verdict::same);
}

TEST(Compare, AMachineTooNoisyForTheLimitEndsInconclusiveWhenTheTimeIsSpent) {
    FakeTeams teams({.noise = 3});
    const Pair pair = measured(teams, 30'000'000);
    EXPECT_EQ(pair.result.verdict, tuner::Verdict::inconclusive);
    EXPECT_GE(pair.spent_ns, 30'000'000);
}

TEST(Compare, AnUntunedPairIsTimedOnceAndIsTheSame) {
    FakeTeams teams({});
    const Pair pair = measured(teams, 60'000'000'000, example_pair("algorithm=two_shot"));
    EXPECT_EQ(teams.launches, 1);
    EXPECT_TRUE(pair.blocks.empty());
    EXPECT_EQ(pair.result.verdict, tuner::Verdict::same);
    EXPECT_NEAR(pair.result.default_us, 20, 2);
}

TEST(Compare, APairWhoseTeamsKeepDyingFailsWithTheReason) {
    FakeTeams teams({});
    teams.dies_at = 2;
    const Pair pair = measured(teams);
    EXPECT_NE(pair.reason.find("signal 9"), std::string::npos);
    EXPECT_LE(teams.launches, 4);
    EXPECT_EQ(exit_code(count_verdicts({pair}), false), 1);
}

TEST(Compare, TheFloorLimitIsFivePercentFrom64KiBOnAndTenBelow) {
    collectives::Problem problem;
    problem.count = 16 * 1024;
    EXPECT_DOUBLE_EQ(floor_limit(problem), 0.05);
    problem.count -= 1;
    EXPECT_DOUBLE_EQ(floor_limit(problem), 0.10);
}

TEST(Compare, TooManyInconclusiveRowsAreAFailureOfTheRetest) {
    Pair unclear = example_pair();
    unclear.result.verdict = tuner::Verdict::inconclusive;
    EXPECT_EQ(exit_code(count_verdicts({unclear}), true), 0);
    EXPECT_EQ(exit_code(count_verdicts({unclear, unclear}), true), 1);
    EXPECT_EQ(exit_code(count_verdicts({unclear, unclear}), false), 0);
    EXPECT_EQ(count_verdicts(std::vector<Pair>(40, unclear)).allowed_inconclusive, 4u);
}

// A machine whose database is the planted one.
Machine machine_with(const std::vector<test::PlantedRow>& rows, Options& options) {
    const test::TemporaryFolder folder;
    options.db = folder.path() + "/planted.attune.db";
    test::write_planted_release(*options.db, rows);
    return discover_machine(options);
}

collectives::Problem problem_of(collectives::Collective collective, int ranks, std::uint64_t count) {
    collectives::Problem problem;
    problem.collective = collective;
    problem.ranks = ranks;
    problem.count = count;
    return problem;
}

TEST(Rows, AnIntervalIsRetestedAtBothEndsAndAPointOnce) {
    Options options;
    const auto ring = core::Config::parse("algorithm=ring");
    const Machine machine = machine_with({{.problem = problem_of(collectives::Collective::all_reduce, 2, 256), .config = ring, .high_bytes = 8192},
                                          {.problem = problem_of(collectives::Collective::all_gather, 2, 256), .config = ring, .high_bytes = 0}},
                                         options);
    const Pairs pairs = pairs_of_rows(options, machine);
    ASSERT_EQ(pairs.pairs.size(), 3u);
    std::vector<std::uint64_t> sizes;
    for (const Pair& pair : pairs.pairs) {
        sizes.push_back(pair.problem.bytes());
        EXPECT_EQ(pair.tuned_config.algorithm(), "ring");
        EXPECT_EQ(pair.team.ranks, 2);
    }
    std::ranges::sort(sizes);
    EXPECT_EQ(sizes, (std::vector<std::uint64_t>{1024, 2048, 8192}));
}

TEST(Rows, OnlyTheCollectivesAskedForAreRetested) {
    Options options;
    options.collectives = {"broadcast"};
    const Machine machine = machine_with(
        {{.problem = problem_of(collectives::Collective::all_reduce, 2, 256), .config = core::Config::parse("algorithm=ring"), .high_bytes = 0}}, options);
    EXPECT_TRUE(pairs_of_rows(options, machine).pairs.empty());
}

TEST(Rows, OnlyTheTypesOperatorsPlacementsAndSizesAskedForAreRetested) {
    const auto ring = core::Config::parse("algorithm=ring");
    collectives::Problem inside = problem_of(collectives::Collective::all_reduce, 2, 256);
    inside.in_place = true;
    Options options;
    const Machine machine = machine_with({{.problem = problem_of(collectives::Collective::all_reduce, 2, 256), .config = ring, .high_bytes = 8192},
                                          {.problem = inside, .config = ring, .high_bytes = 0}},
                                         options);
    const auto count = [&](auto change) {
        Options asked = options;
        change(asked);
        return pairs_of_rows(asked, machine).pairs.size();
    };
    EXPECT_EQ(count([](Options&) {}), 3u);
    EXPECT_EQ(count([](Options& o) { o.in_place = "yes"; }), 1u);
    EXPECT_EQ(count([](Options& o) { o.in_place = "no"; }), 2u);
    EXPECT_EQ(count([](Options& o) { o.dtypes_given = true, o.dtypes = {"int32", "float"}; }), 3u);
    EXPECT_EQ(count([](Options& o) { o.dtypes_given = true, o.dtypes = {"int32"}; }), 0u);
    EXPECT_EQ(count([](Options& o) { o.ops_given = true, o.ops = {"max"}; }), 0u);
    EXPECT_EQ(count([](Options& o) { o.ops_given = true, o.ops = {"all"}; }), 3u);
    EXPECT_EQ(count([](Options& o) { o.transport_named = true, o.transport = "local"; }), 0u);
    EXPECT_EQ(count([](Options& o) { o.sizes_given = true, o.sizes.min_bytes = 8193; }), 0u);
    EXPECT_EQ(count([](Options& o) { o.sizes_given = true, o.sizes.max_bytes = 1023; }), 0u);
}

TEST(Rows, AnIntervalIsRetestedAtTheEndsOfWhatIsAskedFor) {
    Options options;
    const Machine machine = machine_with(
        {{.problem = problem_of(collectives::Collective::all_reduce, 2, 256), .config = core::Config::parse("algorithm=ring"), .high_bytes = 8192}}, options);
    options.sizes_given = true;
    options.sizes.min_bytes = 2048;
    options.sizes.max_bytes = 4096;
    const Pairs pairs = pairs_of_rows(options, machine);
    ASSERT_EQ(pairs.pairs.size(), 2u);
    EXPECT_EQ(pairs.pairs[0].problem.bytes(), 2048u);
    EXPECT_EQ(pairs.pairs[1].problem.bytes(), 4096u);
}

TEST(Rows, ARowThatTheChooserWouldNotUseIsSkippedWithItsReason) {
    Options options;
    const Machine machine = machine_with({{.problem = problem_of(collectives::Collective::all_reduce, 2, 256),
                                           .config = core::Config::parse("algorithm=ring"),
                                           .high_bytes = 0,
                                           .default_version = collectives::default_version + 1}},
                                         options);
    const Pairs pairs = pairs_of_rows(options, machine);
    EXPECT_TRUE(pairs.pairs.empty());
    ASSERT_EQ(pairs.skipped.size(), 1u);
    EXPECT_NE(pairs.skipped[0].find("default version"), std::string::npos) << pairs.skipped[0];
}

}  // namespace
}  // namespace attune::tools::bench
