#include "tuner/publish.hpp"

#include "libcore/samples.hpp"
#include "tests/tuner/fake_world.hpp"
#include "tests/tuner/publish_trials.hpp"
#include "tuner/measure.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace attune::tuner {
namespace {

TEST(SelectRows, ARootedChoiceHoldsForAnyRootOnlyWhenProvenAtTheFirstAndTheLast) {
    std::vector<db::Trial> trials;
    append_rooted(trials, 0, {.bytes = 64, .gain = 1.5});
    append_rooted(trials, 3, {.bytes = 64, .gain = 1.3});
    append_rooted(trials, 0, {.bytes = 512, .gain = 1.5});
    append_rooted(trials, 3, {.bytes = 512, .gain = 1.0});
    const auto selection = select(trials);
    ASSERT_EQ(selection.rows.size(), 2u);
    EXPECT_EQ(selection.rows[0].row.key.root_class, "0");
    EXPECT_EQ(selection.rows[0].row.low_bytes, 512u);
    EXPECT_EQ(selection.rows[1].row.key.root_class, "any");
    EXPECT_EQ(selection.rows[1].row.low_bytes, 64u);
    EXPECT_NEAR(selection.rows[1].row.gain, 1.3, 0.02);  // the weaker of the two
    EXPECT_EQ(selection.rejected.size(), 1u);
}

TEST(SelectRows, PublishesAClearGainWithItsEvidence) {
    std::vector<db::Trial> trials;
    append(trials, {});
    const auto selection = select(trials);
    ASSERT_EQ(selection.rows.size(), 1u);
    const auto& row = selection.rows.front();
    EXPECT_EQ(row.row.low_bytes, 64u);
    EXPECT_EQ(row.row.high_bytes, 64u);
    EXPECT_EQ(row.row.config, ring);
    EXPECT_EQ(row.row.default_config, standard);
    EXPECT_EQ(row.row.instruction_set, "avx2");
    EXPECT_NEAR(row.row.gain, 1.5, 0.02);
    EXPECT_LE(row.row.gain_low, row.row.gain);
    EXPECT_GE(row.row.gain_high, row.row.gain);
    EXPECT_NEAR(row.row.default_ns / row.row.best_ns, 1.5, 0.05);
    EXPECT_EQ(row.evidence.launches, 3u);
    EXPECT_EQ(row.evidence.blocks, 15u);
    EXPECT_LT(row.evidence.p_value, 1e-4);
    ASSERT_EQ(row.evidence.classes.size(), 1u);
    EXPECT_EQ(row.evidence.classes.front().blocks, 15u);
}

TEST(SelectRows, TrialsAgainstAnotherDefaultThanTodaysProveNothing) {
    std::vector<db::Trial> trials;
    append(trials, {});
    PublishOptions options;
    options.default_config = [](const core::Key&, std::uint64_t) { return std::optional(ring); };
    const auto selection = select(trials, options);
    EXPECT_TRUE(selection.rows.empty());
    EXPECT_TRUE(selection.proven.empty());
    EXPECT_EQ(only_reason(selection), "measured against another default (algorithm=one_shot)");
    options.default_config = [](const core::Key&, std::uint64_t) { return std::optional(standard); };
    EXPECT_EQ(select(trials, options).rows.size(), 1u);
    options.default_config = [](const core::Key&, std::uint64_t) { return std::optional<core::Config>(); };
    EXPECT_EQ(select(trials, options).rows.size(), 1u) << "a problem without a known default is not compared";
}

TEST(SelectRows, AProbeThatWasNeverSearchedSaysNothingAboutTheSearch) {
    std::vector<db::Trial> trials;
    for (const std::uint64_t bytes : {64u, 180u, 380u, 512u}) {
        append(trials, {.bytes = bytes, .gain = bytes == 180 ? 1.3 : 1.5});
        if (bytes == 64 || bytes == 512) trials.push_back(trial({.bytes = bytes}, "search", 9, 1.5));
    }
    PublishOptions options;
    options.complete = [](const std::string&, const std::string&, std::uint64_t bytes) { return bytes == 64 || bytes == 512; };
    const auto selection = select(trials, options);
    ASSERT_EQ(selection.rows.size(), 1u);
    EXPECT_EQ(selection.rows.front().evidence.candidates, 1u);
    EXPECT_TRUE(selection.rows.front().evidence.complete);
}

TEST(SelectRows, NeedsFifteenKeptBlocks) {
    std::vector<db::Trial> trials;
    append(trials, {});
    trials.back().outcome = db::Outcome::noisy;
    EXPECT_TRUE(select(trials).rows.empty());
    EXPECT_EQ(only_reason(select(trials)), "14 kept blocks, 15 needed");
}

TEST(SelectRows, NeedsThreeLaunches) {
    std::vector<db::Trial> trials;
    append(trials, {.launches = 2, .blocks = 8});
    EXPECT_EQ(only_reason(select(trials)), "2 launches, 3 needed");
}

TEST(SelectRows, SearchSamplesAreNoEvidence) {
    std::vector<db::Trial> trials;
    append(trials, {});
    for (auto& one : trials)
        if (one.phase == "confirm") one.phase = "search";
    const auto selection = select(trials);
    EXPECT_TRUE(selection.rows.empty());
    EXPECT_TRUE(selection.rejected.empty()) << "nothing was tested";
}

TEST(SelectRows, AGainBelowTwoPercentIsNotPublished) {
    std::vector<db::Trial> trials;
    append(trials, {.gain = 1.015, .wobble = 0.001});
    EXPECT_TRUE(select(trials).rows.empty());
    EXPECT_NE(only_reason(select(trials)).find("not proven"), std::string::npos);
}

TEST(SelectRows, AGainBelowTheFloorIsNotPublished) {
    std::vector<db::Trial> trials;
    append(trials, {.gain = 1.08, .wobble = 0.001});
    for (auto& one : trials)
        if (one.phase == "floor") one.ratio = one.ratio > 1 ? 1.12 : 0.88;
    EXPECT_TRUE(select(trials).rows.empty());
}

TEST(SelectRows, WithoutFloorBlocksOfTheSameLaunchesNothingIsProven) {
    std::vector<db::Trial> trials;
    append(trials, {});
    for (auto& one : trials)
        if (one.phase == "floor") one.launch = "elsewhere";
    EXPECT_TRUE(select(trials).rows.empty());
}

TEST(SelectRows, AWinnerThatLosesInOnePlacementIsNotPublished) {
    std::vector<db::Trial> trials;
    append(trials, {.gain = 2, .launches = 5, .blocks = 8});
    append(trials, {.gain = 0.8, .launches = 1, .blocks = 5, .placement = "c1"});
    EXPECT_NE(only_reason(select(trials)).find("slower than the default in placement c1"), std::string::npos);
    // Four blocks of a class are too few to judge it by itself.
    std::erase_if(trials, [](const auto& one) { return one.placement == "c1"; });
    append(trials, {.gain = 0.8, .launches = 1, .blocks = 4, .placement = "c1"});
    EXPECT_EQ(select(trials).rows.size(), 1u);
}

TEST(SelectRows, AFailureInARetestIsAVeto) {
    for (const auto outcome : {db::Outcome::wrong, db::Outcome::failed, db::Outcome::timeout}) {
        std::vector<db::Trial> trials;
        append(trials, {.blocks = 8});
        auto bad = trial({}, "confirm", 2, 1.5);
        bad.outcome = outcome;
        bad.message = "what happened";
        trials.push_back(bad);
        EXPECT_NE(only_reason(select(trials)).find("what happened"), std::string::npos);
    }
}

TEST(SelectRows, TrialsAgainstAnotherDefaultVersionDoNotCount) {
    std::vector<db::Trial> trials;
    append(trials, {});
    PublishOptions options;
    options.default_version = 2;
    EXPECT_EQ(only_reason(select(trials, options)), "measured against default version 1, now 2");
}

TEST(SelectRows, TrialsOfAnotherAlgorithmVersionDoNotCount) {
    std::vector<db::Trial> trials;
    append(trials, {});
    PublishOptions options;
    options.algorithm_version = [](const core::Key&, const core::Config&) { return 7u; };
    EXPECT_EQ(only_reason(select(trials, options)), "measured with ring version 1, now 7");
    options.algorithm_version = [](const core::Key&, const core::Config&) { return 0u; };
    EXPECT_EQ(only_reason(select(trials, options)), "unknown algorithm 'ring'");
}

TEST(SelectRows, WeakEvidenceNeedsFewerCompanions) {
    // 13 of 15 blocks above: p = 0.0037, enough alone, not among forty.
    std::vector<db::Trial> trials;
    append(trials, {});
    int below = 0;
    for (auto& one : trials)
        if (one.phase == "confirm" && below < 2) one.ratio = 0.99, ++below;
    EXPECT_EQ(select(trials).rows.size(), 1u);
    for (std::uint64_t size = 128; size < 128 + 40 * 4; size += 4)
        append(trials, {.bytes = size, .gain = 1.0});
    EXPECT_TRUE(select(trials).rows.empty()) << "every hypothesis that was tried counts";
}

TEST(SelectRows, PublishesAnIntervalOverProvenInnerSizes) {
    std::vector<db::Trial> trials;
    for (const std::uint64_t bytes : {64u, 180u, 380u, 512u})
        append(trials, {.bytes = bytes, .gain = bytes == 180 ? 1.3 : 1.6});
    const auto selection = select(trials);
    ASSERT_EQ(selection.rows.size(), 1u);
    EXPECT_EQ(selection.rows.front().row.low_bytes, 64u);
    EXPECT_EQ(selection.rows.front().row.high_bytes, 512u);
    EXPECT_NEAR(selection.rows.front().row.gain, 1.3, 0.02) << "the weakest point speaks for the interval";
    EXPECT_EQ(selection.proven.size(), 4u);
}

TEST(SelectRows, NotesACompleteSearch) {
    std::vector<db::Trial> trials;
    append(trials, {});
    PublishOptions options;
    options.complete = [](const std::string& run, const std::string& key, std::uint64_t bytes) {
        return run == "run-1" && key == key_of_all_reduce().text() && bytes == 64;
    };
    EXPECT_TRUE(select(trials, options).rows.at(0).evidence.complete);
    EXPECT_FALSE(select(trials).rows.at(0).evidence.complete);
}

TEST(SelectRows, NothingGivesNothing) {
    EXPECT_TRUE(select({}).rows.empty());
}

// Simulated sessions in which no candidate differs from the default, with blocks as noisy as a shared machine's.
TEST(SelectRows, FalsePublishesOverTwoHundredNullSessionsStayBelowOnePercent) {
    testing::FakeWorld world;
    world.noise = 0.1;
    world.block_noise = 0.08;
    world.round_trips = {100, 600};
    world.cost_ns = [](const collectives::Problem&, const core::Config&, std::size_t) { return 20'000.0; };
    const profiler::PlacementCuts cuts{{250}};
    std::size_t tested = 0, published = 0;
    for (int session = 0; session < 200; ++session) {
        std::vector<db::Trial> trials;
        for (std::size_t launch = 0; launch < 3; ++launch) {
            testing::FakeArena arena(world);
            for (const std::uint64_t bytes : {8u, 64u, 512u, 4096u}) {
                Work work;
                work.configs = {standard, ring};
                arena.load(work);
                for (std::size_t block = 0; block < 12; ++block) {
                    const std::size_t arm = block % 2;
                    const Block measured = paired_block(arena, 0, arm, cuts, {.target_ns = 400'000, .maximum_iterations = 10});
                    auto one = trial({.bytes = bytes, .placement = measured.placement}, arm == 0 ? "floor" : "confirm", launch, measured.ratio);
                    one.outcome = measured.kept ? db::Outcome::ok : db::Outcome::noisy;
                    trials.push_back(one);
                }
            }
        }
        const auto selection = select(trials);
        tested += selection.proven.size() + selection.rejected.size();
        published += selection.rows.size();
    }
    EXPECT_EQ(tested, 800u);
    EXPECT_LE(published, 8u);
}

}  // namespace
}  // namespace attune::tuner
