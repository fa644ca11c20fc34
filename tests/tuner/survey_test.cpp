#include "tests/tuner/fake_world.hpp"
#include "tuner/survey.hpp"

#include <gtest/gtest.h>

namespace attune::tuner {
namespace {

using testing::FakeArena;
using testing::FakeWorld;

TEST(Survey, FindsThePlacementsOfAMachineThatMoves) {
    FakeWorld world;
    world.round_trips = {40, 110, 600};
    FakeArena arena(world);
    SurveyOptions options;
    options.pause = [&](std::int64_t ns) { world.clock.advance_ns(ns); };
    const auto cuts = profiler::find_cuts(survey(arena, world.clock, options));
    ASSERT_EQ(cuts.upper_ns.size(), 2u);
    EXPECT_EQ(profiler::classify(cuts, 40, false), "c0");
    EXPECT_EQ(profiler::classify(cuts, 110, false), "c1");
    EXPECT_EQ(profiler::classify(cuts, 600, false), "c2");
}

TEST(Survey, KeepsItsLimit) {
    FakeWorld world;
    world.round_trips = {40, 110, 600};
    FakeArena arena(world);
    SurveyOptions options;
    options.limit_ns = 500'000'000;
    options.pause = [&](std::int64_t ns) { world.clock.advance_ns(ns); };
    const auto start = world.clock.now_ns();
    survey(arena, world.clock, options);
    EXPECT_LE(world.clock.now_ns() - start, options.limit_ns + options.pause_ns + 100'000);
}

TEST(Survey, EndsEarlyWhenTheCutsAreStable) {
    FakeWorld world;
    FakeArena arena(world);
    SurveyOptions options;
    options.pause = [&](std::int64_t ns) { world.clock.advance_ns(ns); };
    const auto start = world.clock.now_ns();
    survey(arena, world.clock, options);
    EXPECT_LT(world.clock.now_ns() - start, options.limit_ns * 7 / 10);
}

TEST(Survey, StopsWhenInterrupted) {
    FakeWorld world;
    FakeArena arena(world);
    SurveyOptions options;
    int asked = 0;
    options.interrupted = [&] { return ++asked > 5; };
    EXPECT_EQ(survey(arena, world.clock, options).size(), 5u);
}

TEST(CutSetId, DependsOnTheBoundsOnly) {
    EXPECT_EQ(cut_set_id({{70, 250}}), cut_set_id({{70, 250}}));
    EXPECT_NE(cut_set_id({{70, 250}}), cut_set_id({{70, 251}}));
    EXPECT_EQ(cut_set_id({}).size(), 16u);
}

}  // namespace
}  // namespace attune::tuner
