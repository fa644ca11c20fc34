#include "tuner/ladder.hpp"

#include <gtest/gtest.h>

namespace attune::tuner {
namespace {

using collectives::Collective;

LadderOptions options_of(std::vector<Collective> collectives, int ranks = 4) {
    LadderOptions options;
    options.collectives = std::move(collectives);
    options.ranks = ranks;
    options.sizes = {4096, 8, 64, 512, 32768};
    options.node_map = "1x" + std::to_string(ranks);
    return options;
}

TEST(Ladder, GoesRoundRobinOverCollectivesFromSmallToLarge) {
    const auto problems = ladder(options_of({Collective::all_reduce, Collective::broadcast}, 2));
    ASSERT_EQ(problems.size(), 10u);
    for (std::size_t i = 0; i < problems.size(); ++i)
        EXPECT_EQ(problems[i].collective, i % 2 == 0 ? Collective::all_reduce : Collective::broadcast);
}

TEST(Ladder, RoundsDownToWholeBlocksButNeverToNothing) {
    auto options = options_of({Collective::all_gather}, 7);
    EXPECT_EQ(problem_of_size(options, Collective::all_gather, 8).count, 1u);
    EXPECT_EQ(problem_of_size(options, Collective::all_gather, 1000).bytes(), 7u * 4 * 35);
}

TEST(Ladder, HasNoSizeTwice) {
    const auto problems = ladder(options_of({Collective::all_gather}, 64));
    for (std::size_t i = 1; i < problems.size(); ++i)
        EXPECT_GT(problems[i].bytes(), problems[i - 1].bytes());
}

TEST(Ladder, ABarrierIsOneProblem) {
    EXPECT_EQ(ladder(options_of({Collective::barrier})).size(), 1u);
}

TEST(Ladder, WithoutSizesOrCollectivesIsEmpty) {
    EXPECT_TRUE(ladder(options_of({})).empty());
    auto options = options_of({Collective::all_reduce});
    options.sizes.clear();
    EXPECT_TRUE(ladder(options).empty());
}

core::Key key_of(const std::string& collective, const std::string& dtype, int ranks) {
    core::Key key;
    key.collective = collective;
    key.dtype_class = dtype;
    key.op = dtype == "bytes" ? "none" : "sum";
    key.ranks = ranks;
    key.node_map = "1x" + std::to_string(ranks);
    key.transport = "shm";
    return key;
}

TEST(ProblemOfKey, InvertsTheSizeOfAProblem) {
    for (const auto collective : {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter, Collective::broadcast}) {
        const auto problem = problem_of_size(options_of({}, 3), collective, 4096);
        const bool reduces = collective == Collective::all_reduce || collective == Collective::reduce_scatter;
        const auto key = key_of(std::string(collectives::name_of(collective)), reduces ? "float32" : "bytes", 3);
        EXPECT_EQ(problem_of_key(key, problem.bytes()), problem);
    }
}

TEST(ProblemOfKey, IsNothingForWhatThisBuildDoesNotKnow) {
    EXPECT_FALSE(problem_of_key(key_of("all_to_some", "bytes", 3), 12));
    EXPECT_FALSE(problem_of_key(key_of("all_reduce", "float7", 3), 12));
    EXPECT_FALSE(problem_of_key(key_of("all_gather", "bytes", 3), 13));
}

TEST(Ladder, OnlyCollectivesWithOneCountCanBeTuned) {
    for (const auto collective : collectives::all_collectives()) {
        const auto why = why_untunable(collective);
        EXPECT_EQ(why.has_value(), collectives::has_amounts(collective)) << collectives::name_of(collective);
        EXPECT_EQ(why.value_or(std::string(collectives::name_of(collective))).find(collectives::name_of(collective)), 0u);
    }
}

}  // namespace
}  // namespace attune::tuner
