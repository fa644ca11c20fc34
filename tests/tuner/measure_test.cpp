// Paired blocks on a modelled machine: unbiased under drift and moving cores, and verdicts that follow the truth.
#include "tuner/measure.hpp"

#include "tests/tuner/fake_arena.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace attune::tuner {
namespace {

const profiler::PlacementCuts near_and_far{.upper_ns = {250}};

std::vector<Block> blocks_of(FakeArena& arena, std::size_t a, std::size_t b, int count) {
    std::vector<Block> blocks;
    for (int i = 0; i < count; ++i)
        blocks.push_back(paired_block(arena, a, b, near_and_far, {}));
    return blocks;
}

std::size_t kept(const std::vector<Block>& blocks) {
    std::size_t count = 0;
    for (const Block& block : blocks)
        count += block.kept ? 1 : 0;
    return count;
}

Block made_block(double ratio, const std::string& placement, const std::string& launch = "l") {
    Block block;
    block.kept = true;
    block.placement = placement;
    block.launch = launch;
    block.a_median_ns = 1000;
    block.b_median_ns = 1000 * ratio;
    block.ratio = 1 / ratio;
    return block;
}

std::vector<Block> made_blocks(const std::vector<double>& ratios, const std::string& placement = "c0") {
    std::vector<Block> blocks;
    for (const double ratio : ratios)
        blocks.push_back(made_block(ratio, placement));
    return blocks;
}

const std::vector<double> quiet(15, 1.0);

TEST(Measure, ABlockHoldsTheSamplesOfBothArmsAndTheirRatio) {
    FakeArena arena({.true_ns = {30'000, 20'000}});
    const Block block = paired_block(arena, 0, 1, near_and_far, {});
    EXPECT_EQ(block.outcome, CheckOutcome::ok);
    EXPECT_TRUE(block.kept);
    EXPECT_EQ(block.placement, "c0");
    EXPECT_EQ(block.launch, "fake");
    EXPECT_EQ(block.a_ns.size(), block.b_ns.size());
    EXPECT_GE(block.a_ns.size(), BlockOptions{}.minimum_iterations);
    EXPECT_NEAR(block.ratio, 1.5, 0.1);
    EXPECT_DOUBLE_EQ(block.ratio, block.a_median_ns / block.b_median_ns);
}

TEST(Measure, ABlockTakesAboutTheTimeItIsToldTo) {
    FakeArena arena({.true_ns = {50'000, 50'000}, .noise = 0});
    BlockOptions options;
    options.target_ns = 20'000'000;
    const Block block = paired_block(arena, 0, 1, near_and_far, options);
    double total = 0;
    for (const double ns : block.a_ns)
        total += ns;
    for (const double ns : block.b_ns)
        total += ns;
    EXPECT_NEAR(total, 20e6, 2e6);
}

TEST(Measure, SlowCallsStillGetTheMinimumOfIterationsAndFastOnesTheMaximum) {
    FakeArena slow({.true_ns = {1e9, 1e9}});
    EXPECT_EQ(paired_block(slow, 0, 1, near_and_far, {}).a_ns.size(), BlockOptions{}.minimum_iterations);
    FakeArena fast({.true_ns = {10, 10}});
    const Block block = paired_block(fast, 0, 1, near_and_far, {});
    EXPECT_LE(block.a_ns.size(), BlockOptions{}.maximum_iterations + 8);
}

TEST(Measure, ADriftOfTheMachineDoesNotFavourAnArm) {
    FakeArena arena({.noise = 0.001, .drift_per_sample = 2e-5});
    double logs = 0;
    const int count = 20;
    for (const Block& block : blocks_of(arena, 0, 1, count))
        logs += std::log(block.ratio);
    EXPECT_NEAR(std::exp(logs / count), 1.0, 0.003);
}

TEST(Measure, TheRatioIsUnbiasedWhileCoresMove) {
    FakeArena arena({.true_ns = {24'000, 20'000}, .noise = 0.1, .flip_probability = 0.01, .seed = 7});
    std::vector<double> ratios;
    for (const Block& block : blocks_of(arena, 0, 1, 200)) {
        if (block.kept) ratios.push_back(block.ratio);
    }
    ASSERT_GT(ratios.size(), 100u);
    EXPECT_NEAR(core::median(ratios), 1.2, 0.02);
}

TEST(Measure, ABlockWhosePlacementClassChangedIsDropped) {
    FakeArena arena({.flip_probability = 0.05, .seed = 3});
    const std::vector<Block> blocks = blocks_of(arena, 0, 1, 100);
    EXPECT_LT(kept(blocks), blocks.size());
    EXPECT_GT(kept(blocks), 0u);
    FakeArena steady({.seed = 3});
    EXPECT_EQ(kept(blocks_of(steady, 0, 1, 100)), 100u);
}

TEST(Measure, OversubscribedBlocksAreAClassOfTheirOwn) {
    FakeArena arena({});
    arena.crowded = true;
    EXPECT_EQ(paired_block(arena, 0, 1, near_and_far, {}).placement, "oversubscribed");
}

TEST(Measure, AFailedSampleEndsTheBlockWithItsReason) {
    FakeArena arena({});
    arena.dies_at = 4;
    const Block block = paired_block(arena, 0, 1, near_and_far, {});
    EXPECT_EQ(block.outcome, CheckOutcome::failed);
    EXPECT_EQ(block.message, "rank 1 was killed by signal 9");
    EXPECT_FALSE(block.kept);
}

TEST(Measure, TheFloorIsTheFartherEndOfTheInterval) {
    EXPECT_DOUBLE_EQ(noise_floor(made_blocks({0.8, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.1})), 0.25);  // ratio a / b: 1 / 0.8
    EXPECT_DOUBLE_EQ(noise_floor(made_blocks(quiet)), 0.0);
}

TEST(Measure, TheFloorIgnoresDroppedBlocksAndIsWideWhenNothingIsKnown) {
    std::vector<Block> blocks = made_blocks(quiet);
    blocks.push_back(made_block(10, "c0"));
    blocks.back().kept = false;
    EXPECT_DOUBLE_EQ(noise_floor(blocks), 0.0);
    EXPECT_DOUBLE_EQ(noise_floor({}), 1.0);
}

TEST(Measure, ACandidateThatIsPlantedSlowerIsAlwaysCaught) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        FakeArena arena({.true_ns = {20'000, 25'000}, .noise = 0.15, .flip_probability = 0.01, .seed = seed});
        const Comparison comparison = compare(blocks_of(arena, 0, 1, 30), blocks_of(arena, 0, 0, 30), 0.10);
        EXPECT_EQ(comparison.verdict, Verdict::slower) << "seed " << seed << " ratio " << comparison.ratio << " floor " << comparison.floor;
    }
}

TEST(Measure, AnEqualCandidateIsAlmostNeverCalledDifferent) {
    int slower = 0;
    int same = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        FakeArena arena({.noise = 0.15, .flip_probability = 0.01, .seed = seed});
        const Verdict verdict = compare(blocks_of(arena, 0, 1, 15), blocks_of(arena, 0, 0, 15), 0.10).verdict;
        slower += verdict == Verdict::slower ? 1 : 0;
        same += verdict == Verdict::same ? 1 : 0;
    }
    EXPECT_EQ(slower, 0);
    EXPECT_GE(same, 95);
}

TEST(Measure, AFasterCandidateIsCalledFaster) {
    FakeArena arena({.true_ns = {25'000, 20'000}});
    const Comparison comparison = compare(blocks_of(arena, 0, 1, 15), blocks_of(arena, 0, 0, 15), 0.10);
    EXPECT_EQ(comparison.verdict, Verdict::faster);
    EXPECT_NEAR(comparison.ratio, 0.8, 0.03);
    EXPECT_LT(comparison.high, 1);
    EXPECT_NEAR(comparison.default_us, 25, 2);
    EXPECT_NEAR(comparison.tuned_us, 20, 2);
}

TEST(Measure, AGainWithinTheFloorIsTheSame) {
    const std::vector<Block> floor = made_blocks({0.98, 0.99, 0.99, 1.0, 1.0, 1.0, 1.01, 1.01, 1.02});
    EXPECT_EQ(compare(made_blocks(std::vector<double>(15, 0.998)), floor, 0.10).verdict, Verdict::same);
    EXPECT_EQ(compare(made_blocks(std::vector<double>(15, 0.96)), floor, 0.10).verdict, Verdict::faster);
}

TEST(Measure, FewerThanEightBlocksDecideNothing) {
    EXPECT_EQ(compare(made_blocks(std::vector<double>(7, 2.0)), made_blocks(quiet), 0.10).verdict, Verdict::inconclusive);
    EXPECT_EQ(compare(made_blocks(std::vector<double>(8, 2.0)), made_blocks(quiet), 0.10).verdict, Verdict::slower);
    EXPECT_EQ(compare({}, made_blocks(quiet), 0.10).verdict, Verdict::inconclusive);
}

TEST(Measure, AFloorAboveTheLimitIsInconclusiveUnlessTheCandidateIsClearlySlower) {
    const std::vector<Block> noisy = made_blocks({0.7, 0.8, 0.9, 1.0, 1.0, 1.1, 1.2, 1.3});
    EXPECT_EQ(compare(made_blocks(quiet), noisy, 0.10).verdict, Verdict::inconclusive);
    EXPECT_EQ(compare(made_blocks(std::vector<double>(15, 3.0)), noisy, 0.10).verdict, Verdict::slower);
}

TEST(Measure, TheWorstPlacementClassDecides) {
    std::vector<Block> blocks = made_blocks(std::vector<double>(20, 0.7), "c0");
    for (const Block& block : made_blocks(std::vector<double>(6, 1.5), "c1"))
        blocks.push_back(block);
    const Comparison comparison = compare(blocks, made_blocks(quiet), 0.10);
    EXPECT_EQ(comparison.placement, "c1");
    EXPECT_EQ(comparison.verdict, Verdict::slower);
    EXPECT_EQ(comparison.blocks, 6u);
}

TEST(Measure, AClassSeenInFewerThanFiveBlocksDoesNotDecide) {
    std::vector<Block> blocks = made_blocks(std::vector<double>(20, 0.7), "c0");
    for (const Block& block : made_blocks(std::vector<double>(4, 1.5), "c1"))
        blocks.push_back(block);
    EXPECT_EQ(compare(blocks, made_blocks(quiet), 0.10).placement, "c0");
}

TEST(Measure, LaunchesCountDistinctIdsWithAKeptBlock) {
    std::vector<Block> blocks;
    for (const char* launch : {"a", "b", "c", "c"})
        blocks.push_back(made_block(1, "c0", launch));
    blocks.push_back(made_block(1, "c0", "dropped"));
    blocks.back().kept = false;
    EXPECT_EQ(compare(blocks, made_blocks(quiet), 0.10).launches, 3u);
}

}  // namespace
}  // namespace attune::tuner
