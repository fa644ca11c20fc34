#include "tuner/session.hpp"

#include "libcore/error.hpp"
#include "tests/tuner/fake_world.hpp"
#include "tuner/ladder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include <unistd.h>

namespace attune::tuner {
namespace {

using core::Config;
using testing::FakeTarget;
using testing::FakeWorld;
using testing::Manner;
namespace fs = std::filesystem;

class Folder {
public:
    Folder() {
        std::string name = (fs::temp_directory_path() / "attune-session-XXXXXX").string();
        path_ = mkdtemp(name.data());
    }
    ~Folder() { fs::remove_all(path_); }
    std::string operator/(const std::string& name) const { return (path_ / name).string(); }

private:
    fs::path path_;
};

const std::vector<Config> four{Config::parse("algorithm=one_shot"), Config::parse("algorithm=two_shot"), Config::parse("algorithm=ring"),
                               Config::parse("algorithm=recursive_doubling")};

db::Identity identity() {
    return {{{"cpu_vendor", "test"}, {"instruction_set", "avx2"}}};
}

// Killed like by SIGKILL: nothing of the session runs after it.
struct Killed {};

struct Bench {
    FakeWorld world;
    Folder folder;
    std::vector<Config> configs = four;
    SessionOptions options;
    std::function<void(const Progress&)> progress;
    std::function<bool()> interrupted;

    Bench() {
        world.noise = 0.01;
        world.cost_ns = [](const collectives::Problem&, const Config& config, std::size_t) { return config.algorithm() == "ring" ? 20'000.0 : 40'000.0; };
        options.problems = {problem(64)};
        options.team.ranks = 4;
        options.team.node_map = "1x4";
        options.budget_ns = 60'000'000'000;
        options.description = "test";
        options.release_path = folder / "x.attune.db";
        options.pause = [this](std::int64_t ns) { world.clock.advance_ns(ns); };
        options.block = {.target_ns = 1'000'000, .minimum_iterations = 2, .maximum_iterations = 8};
    }

    static collectives::Problem problem(std::uint64_t bytes) {
        LadderOptions ladder;
        ladder.ranks = 4;
        ladder.node_map = "1x4";
        return problem_of_size(ladder, collectives::Collective::all_reduce, bytes);
    }

    std::string journal_path() const { return db::journal_path_of(options.release_path); }

    SessionResult run() {
        FakeTarget target(world, configs);
        auto journal = db::Journal::open(journal_path(), identity(), {});
        const auto who = identity();
        return run_session(options, {target, journal, who, world.clock, progress, interrupted});
    }

    std::vector<db::Trial> trials() const { return db::Journal::open_for_reading(journal_path()).trials(identity()); }
};

// How often each thing was tried; placements and times do not matter here.
std::map<std::string, int> tally(const std::vector<db::Trial>& trials) {
    std::map<std::string, int> result;
    for (const auto& trial : trials)
        ++result[trial.phase + " " + std::to_string(trial.bytes) + " " + trial.config.text()];
    return result;
}

TEST(Session, FindsThePlantedBestAndPublishesIt) {
    Bench bench;
    const auto result = bench.run();
    ASSERT_EQ(result.selection.rows.size(), 1u);
    EXPECT_EQ(result.selection.rows.front().row.config.algorithm(), "ring");
    EXPECT_NEAR(result.selection.rows.front().row.gain, 2, 0.1);
    EXPECT_TRUE(result.selection.rows.front().evidence.complete);
    EXPECT_GE(result.selection.rows.front().evidence.launches, 3u);
    EXPECT_TRUE(result.published);
    EXPECT_EQ(db::read_release(bench.options.release_path).rows.size(), 1u);
    EXPECT_EQ(result.trials, bench.trials().size());
    EXPECT_LE(result.spent_ns, bench.options.budget_ns);
}

TEST(Session, PublishesAnEmptyReleaseWhenNothingIsBetter) {
    Bench bench;
    bench.world.noise = bench.world.block_noise = 0.05;
    bench.world.cost_ns = [](const collectives::Problem&, const Config&, std::size_t) { return 20'000.0; };
    const auto result = bench.run();
    EXPECT_TRUE(result.selection.rows.empty());
    EXPECT_TRUE(result.published);
    const auto release = db::read_release(bench.options.release_path);
    EXPECT_TRUE(release.rows.empty());
    EXPECT_EQ(release.identities.size(), 1u);
}

TEST(Session, NoPublishLeavesNoRelease) {
    Bench bench;
    bench.options.publish = false;
    const auto result = bench.run();
    EXPECT_FALSE(result.published);
    EXPECT_EQ(result.selection.rows.size(), 1u);
    EXPECT_FALSE(fs::exists(bench.options.release_path));
}

TEST(Session, TakesTheBestWorstPlacement) {
    Bench bench;
    bench.world.round_trips = {100, 600};
    bench.world.move_chance = 0.4;
    // ring is best on near cores and terrible on far ones; recursive doubling always gains a little.
    bench.world.cost_ns = [](const collectives::Problem&, const Config& config, std::size_t placement) {
        if (config.algorithm() == "ring") return placement == 0 ? 10'000.0 : 100'000.0;
        return config.algorithm() == "recursive_doubling" ? 30'000.0 : 40'000.0;
    };
    const auto result = bench.run();
    ASSERT_EQ(result.selection.rows.size(), 1u);
    EXPECT_EQ(result.selection.rows.front().row.config.algorithm(), "recursive_doubling");
    EXPECT_EQ(result.selection.rows.front().evidence.classes.size(), 2u);
}

TEST(Session, BlamesWhatCrashesHangsOrIsWrongAndGoesOn) {
    Bench bench;
    bench.world.manners = {{"algorithm=one_shot", Manner::good}, {"algorithm=two_shot", Manner::crashes}, {"algorithm=recursive_doubling", Manner::hangs}};
    bench.configs.push_back(Config::parse("algorithm=ring,segment_bytes=16K"));
    bench.world.manners["algorithm=ring,segment_bytes=16K"] = Manner::wrong;
    const auto result = bench.run();
    ASSERT_EQ(result.failures.size(), 3u) << "one trial each";
    std::map<std::string, db::Outcome> outcomes;
    for (const auto& failure : result.failures)
        outcomes[failure.config.text()] = failure.outcome;
    EXPECT_EQ(outcomes["algorithm=two_shot"], db::Outcome::failed);
    EXPECT_EQ(outcomes["algorithm=recursive_doubling"], db::Outcome::timeout);
    EXPECT_EQ(outcomes["algorithm=ring,segment_bytes=16K"], db::Outcome::wrong);
    ASSERT_EQ(result.selection.rows.size(), 1u);
    EXPECT_EQ(result.selection.rows.front().row.config.text(), "algorithm=ring");
}

TEST(Session, DoesNotTryAgainWhatFailedInAnEarlierRun) {
    Bench bench;
    bench.world.manners = {{"algorithm=two_shot", Manner::crashes}};
    EXPECT_EQ(bench.run().failures.size(), 1u);
    EXPECT_TRUE(bench.run().failures.empty());
    EXPECT_EQ(bench.run().selection.rows.size(), 1u);
}

TEST(Session, GivesUpAProblemWhoseDefaultFailsAndGoesOnWithTheNext) {
    Bench bench;
    bench.world.manners = {{"algorithm=one_shot", Manner::crashes}};
    bench.options.problems = {Bench::problem(64), Bench::problem(512)};
    const auto result = bench.run();
    EXPECT_TRUE(result.selection.rows.empty());
    EXPECT_EQ(result.failures.size(), 2u);
    EXPECT_EQ(result.notes.size(), 2u);
}

TEST(Session, PublishesAnIntervalOverNeighbouringSizesWithOneWinner) {
    Bench bench;
    bench.options.problems = {Bench::problem(64), Bench::problem(512), Bench::problem(4096)};
    const auto result = bench.run();
    ASSERT_EQ(result.selection.rows.size(), 1u);
    EXPECT_EQ(result.selection.rows.front().row.low_bytes, 64u);
    EXPECT_EQ(result.selection.rows.front().row.high_bytes, 4096u);
}

TEST(Session, KeepsItsBudgetAlsoWhenItIsTooSmallForTheWork) {
    for (const std::int64_t budget : {300'000'000LL, 1'000'000'000LL, 3'000'000'000LL}) {
        Bench bench;
        bench.world.cost_ns = [](const collectives::Problem&, const Config&, std::size_t) { return 4e6; };
        for (std::uint64_t bytes = 8; bytes < 20'000; bytes *= 8)
            bench.options.problems.push_back(Bench::problem(bytes));
        bench.options.budget_ns = budget;
        const auto result = bench.run();
        EXPECT_LE(result.spent_ns, budget + 1'000'000'000) << "one capped trial";
        EXPECT_TRUE(result.published);
    }
}

TEST(Session, OldReTestsAreNotMixedIntoANewRun) {
    Bench bench;
    bench.run();
    bench.world.cost_ns = [](const collectives::Problem&, const Config& config, std::size_t) { return config.algorithm() == "ring" ? 30'000.0 : 40'000.0; };
    const auto result = bench.run();
    ASSERT_EQ(result.selection.rows.size(), 1u);
    EXPECT_NEAR(result.selection.rows.front().row.gain, 4.0 / 3, 0.05);
    EXPECT_EQ(result.selection.rows.front().evidence.run, result.run);
}

TEST(Session, ARunThatFindsNothingKeepsTheProofOfAnEarlierOne) {
    Bench bench;
    const auto first = bench.run();
    bench.world.cost_ns = [](const collectives::Problem&, const Config&, std::size_t) { return 40'000.0; };
    const auto second = bench.run();
    ASSERT_EQ(second.selection.rows.size(), 1u);
    EXPECT_EQ(second.selection.rows.front().evidence.run, first.run);
}

TEST(Session, InterruptedItSavesAndResumes) {
    Bench bench;
    int polls = 0;
    bench.interrupted = [&] { return ++polls > 60; };
    const auto first = bench.run();
    EXPECT_TRUE(first.interrupted);
    EXPECT_FALSE(first.published);
    bench.interrupted = {};
    bench.options.resume = true;
    const auto second = bench.run();
    EXPECT_TRUE(second.resumed);
    EXPECT_EQ(second.run, first.run);
    EXPECT_EQ(second.replayed, first.trials);
    EXPECT_EQ(second.selection.rows.size(), 1u);
}

TEST(Session, ResumingACompleteRunSaysSoAndDoesNothing) {
    Bench bench;
    const auto first = bench.run();
    bench.options.resume = true;
    const auto second = bench.run();
    EXPECT_TRUE(second.already_complete);
    EXPECT_EQ(second.trials, first.trials);
    EXPECT_EQ(second.selection.rows.size(), 1u);
}

TEST(Session, AnotherSpellingOfTheReleaseIsTheSameRelease) {
    Bench bench;
    const std::string release = bench.options.release_path;
    bench.run();
    bench.options.resume = true;
    bench.options.release_path = fs::path(release).parent_path() / "." / fs::path(release).filename();
    ASSERT_NE(bench.options.release_path, release);
    const auto second = bench.run();
    EXPECT_TRUE(second.already_complete);
    EXPECT_FALSE(second.published);
    bench.options.release_path = fs::relative(release);
    EXPECT_FALSE(bench.run().published);
    EXPECT_EQ(bench.run().released_at, fs::weakly_canonical(release));
}

TEST(Session, ResumingNothingOrWithOtherOptionsIsAUsageError) {
    Bench bench;
    bench.options.resume = true;
    EXPECT_THROW(bench.run(), core::Error);
    bench.options.resume = false;
    bench.run();
    bench.options.resume = true;
    bench.options.description = "other";
    try {
        bench.run();
        FAIL();
    } catch (const core::Error& error) {
        EXPECT_EQ(error.code(), core::ErrorCode::usage);
        EXPECT_NE(std::string(error.what()).find("other"), std::string::npos);
    }
}

TEST(Session, TimeSpentBeforeAKillCountsUnlessANewBudgetIsGiven) {
    for (const bool new_budget : {false, true}) {
        Bench bench;
        bench.options.budget_ns = 20'000'000'000;
        bench.world.cost_ns = [](const collectives::Problem&, const Config&, std::size_t) { return 4e6; };
        bench.progress = [&](const Progress& progress) {
            if (progress.spent_ns > 4'000'000'000) throw Killed{};
        };
        bench.options.problems = {Bench::problem(64), Bench::problem(512), Bench::problem(4096), Bench::problem(32768)};
        EXPECT_THROW(bench.run(), Killed);
        bench.options.resume = true;
        bench.options.budget_given = true;
        if (new_budget) bench.options.budget_ns = 21'000'000'000;
        std::optional<std::int64_t> spent;
        bench.progress = [&](const Progress& progress) { spent = spent.value_or(progress.spent_ns); };
        bench.run();
        ASSERT_TRUE(spent);
        EXPECT_EQ(*spent > 3'000'000'000, !new_budget) << *spent;
    }
}

TEST(Session, RecheckReTestsThePublishedRowsOnly) {
    Bench bench;
    bench.run();
    const auto before = bench.trials().size();
    bench.options.recheck = db::read_release(bench.options.release_path).rows;
    ASSERT_EQ(bench.options.recheck.size(), 1u);
    EXPECT_EQ(bench.run().selection.rows.size(), 1u);
    const auto trials = bench.trials();
    for (std::size_t i = before; i < trials.size(); ++i)
        EXPECT_TRUE(trials[i].phase == "recheck" || trials[i].phase == "floor") << trials[i].phase;
    // The gain is gone: so is the row.
    bench.world.cost_ns = [](const collectives::Problem&, const Config&, std::size_t) { return 40'000.0; };
    EXPECT_TRUE(bench.run().selection.rows.empty());
    EXPECT_TRUE(db::read_release(bench.options.release_path).rows.empty());
}

TEST(Session, ResumingACompleteRunPublishesWhatNoPublishLeftAndKnowsWhatItSearched) {
    Bench bench;
    bench.options.publish = false;
    EXPECT_EQ(bench.run().released_at, "");
    bench.options.publish = bench.options.resume = true;
    const auto late = bench.run();
    EXPECT_TRUE(late.already_complete);
    EXPECT_TRUE(late.published);
    EXPECT_TRUE(late.searched.at(0));
    EXPECT_EQ(db::read_release(bench.options.release_path).rows.size(), 1u);
    const auto again = bench.run();
    EXPECT_FALSE(again.published) << "it is there already";
    EXPECT_EQ(again.released_at, bench.options.release_path);
}

TEST(Session, ARecheckWithoutTimeKeepsTheRowsAndSaysSo) {
    Bench bench;
    bench.run();
    bench.options.recheck = db::read_release(bench.options.release_path).rows;
    bench.options.budget_ns = 1'000'000;
    const auto result = bench.run();
    EXPECT_TRUE(result.selection.rows.empty()) << "older evidence makes no row in a re-test";
    const auto says = [](const std::string& note) { return note.starts_with("1 rows not re-tested, kept as they were"); };
    EXPECT_TRUE(std::ranges::any_of(result.notes, says));
    EXPECT_EQ(db::read_release(bench.options.release_path).rows.size(), 1u);
}

// A world without noise asks for the same trials in every run, so a resumed run shows what it repeated.
struct KillPoint : ::testing::TestWithParam<bool> {};

TEST_P(KillPoint, KilledAtAnyTrialItRepeatsAtMostTheOneInFlight) {
    const bool in_flight = GetParam();
    std::optional<std::map<std::string, int>> whole;
    for (int kill = 0;; kill += kill < 16 ? 1 : 3) {
        Bench bench;
        bench.world.noise = 0;
        bench.options.budget_ns = 1'900'000'000;  // room for the smallest re-test: every kill costs a whole run here
        int counted = 0;
        const auto strike = [&] {
            if (++counted == kill) throw Killed{};
        };
        if (in_flight) {
            bench.world.before_sample = [&] {
                if (bench.world.samples % 7 == 0) strike();
            };
        } else {
            bench.progress = [&](const Progress&) { strike(); };
        }
        std::size_t recorded = 0;
        bool killed = false;
        try {
            bench.run();
        } catch (const Killed&) {
            killed = true;
            recorded = bench.trials().size();
            bench.world.before_sample = {};
            bench.progress = {};
            bench.options.resume = true;
            const auto result = bench.run();
            EXPECT_EQ(result.replayed, recorded);
            EXPECT_EQ(result.selection.rows.size(), 1u);
        }
        const auto trials = tally(bench.trials());
        if (!whole) whole = trials;  // kill 0 strikes never
        EXPECT_EQ(trials, *whole) << "killed at " << kill;
        if (kill > 0 && !killed) break;
    }
}

INSTANTIATE_TEST_SUITE_P(BetweenTrialsAndWithinOne, KillPoint, ::testing::Bool());

}  // namespace
}  // namespace attune::tuner
