#include "collectives/proof_sweep.hpp"

#include "collectives/composition.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace attune::collectives {
namespace {

using testing::HasSubstr;

SweepOptions options_for(std::vector<int> ranks) {
    SweepOptions options;
    options.ranks = std::move(ranks);
    options.roots = [](int p) {
        std::vector<int> roots;
        for (int root = 0; root < p; ++root)
            roots.push_back(root);
        return roots;
    };
    return options;
}

TEST(ProofSweep, ProvesTheWholeCatalogue) {
    ProofSweep sweep(options_for({1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17}));
    for (const Algorithm& algorithm : catalogue()) {
        const SweepResult result = sweep.run(algorithm);
        EXPECT_GT(result.proved, 10u) << algorithm.name;
        EXPECT_TRUE(result.failures.empty()) << name_of(algorithm.collective) << " " << algorithm.name << ": " << result.failures.front().reason;
        EXPECT_TRUE(result.skipped.empty());
    }
}

TEST(ProofSweep, UsesTheCountsAroundTheRanksAndAPrime) {
    EXPECT_EQ(sweep_counts(Collective::all_reduce, 5), (std::vector<std::uint64_t>{0, 1, 4, 6, 43}));
    EXPECT_EQ(sweep_counts(Collective::all_gather, 5), (std::vector<std::uint64_t>{0, 1, 4, 6, 13}));
    EXPECT_EQ(sweep_counts(Collective::all_reduce, 1), (std::vector<std::uint64_t>{0, 1, 2, 19}));
    EXPECT_EQ(sweep_counts(Collective::barrier, 5), (std::vector<std::uint64_t>{0}));
}

Problem of_count(Collective collective, std::uint64_t count) {
    Problem problem;
    problem.collective = collective;
    problem.count = count;
    return problem;
}

TEST(ProofSweep, CutsThreeSegmentsWithARemainderOnEachChannel) {
    const Algorithm& ring = *find_algorithm(Collective::all_reduce, "ring");
    const std::vector<Cut> cuts = sweep_cuts(ring, of_count(Collective::all_reduce, 43));
    ASSERT_EQ(cuts.size(), 4u);
    for (const std::size_t cut : {1u, 3u}) {
        const std::uint64_t longest = (43 + static_cast<std::uint64_t>(cuts[cut].channels) - 1) / static_cast<std::uint64_t>(cuts[cut].channels);
        EXPECT_GT(longest, 2 * cuts[cut].segment_elements);
        EXPECT_LT(longest, 3 * cuts[cut].segment_elements);
    }
    EXPECT_EQ(sweep_cuts(ring, of_count(Collective::all_reduce, 1)).size(), 2u);
    EXPECT_EQ(sweep_cuts(*find_algorithm(Collective::barrier, "one_shot"), of_count(Collective::barrier, 0)).size(), 1u);
}

// An all_reduce whose last rank forgets everyone else.
Program forgetful(const Part& part) {
    if (part.rank < part.ranks() - 1 || part.ranks() == 1) return find_algorithm(Collective::all_reduce, "one_shot")->program(part);
    Builder builder(part.rank);
    builder.end_round();
    builder.multicast(others(part), part.whole(BufferId::input));
    for (Rank q = 0; q + 1 < part.ranks(); ++q)
        builder.recv(q, part.whole(BufferId::output));
    builder.end_round();
    return builder.finish();
}

TEST(ProofSweep, ListsWhatItRefutesWithRankStepAndConfig) {
    Algorithm broken = *find_algorithm(Collective::all_reduce, "one_shot");
    broken.name = "ring";  // any name that the catalogue knows
    broken.program = forgetful;
    ProofSweep sweep(options_for({1, 3}));
    const SweepResult result = sweep.run(broken);
    EXPECT_GT(result.proved, 0u);  // one rank, and no elements
    ASSERT_FALSE(result.failures.empty());
    const ProofFailure& failure = result.failures.front();
    EXPECT_EQ(failure.ranks, 3);
    EXPECT_EQ(failure.config, "count=1,in_place=no,segment_elements=0,channels=1");
    EXPECT_THAT(failure.reason, HasSubstr("schedule: rank 2 output element 0"));
}

TEST(ProofSweep, PinsSegmentsAndChannelsAndSkipsWhatDoesNotApply) {
    SweepOptions options = options_for({3});
    options.pinned = core::Config::parse("segment_bytes=64,channels=3");
    ProofSweep sweep(options);
    const SweepResult ring = sweep.run(*find_algorithm(Collective::all_reduce, "ring"));
    EXPECT_EQ(ring.proved, 2u * 2u * (sweep_counts(Collective::all_reduce, 3).size() + 1));  // both places, sum and average
    const SweepResult barrier = sweep.run(*find_algorithm(Collective::barrier, "one_shot"));
    EXPECT_EQ(barrier.proved, 0u);
    ASSERT_EQ(barrier.skipped.size(), 1u);
    EXPECT_THAT(barrier.skipped[0], HasSubstr("3 ranks: channels=3 does not apply"));
}

TEST(ProofSweep, TakesEveryShapeOfAmountsFromViewsAndFromTheMatrix) {
    Problem shape = of_count(Collective::all_to_all_v, 0);
    shape.ranks = 3;
    std::set<std::string> texts;
    for (const SweepProblem& item : sweep_problems(*find_algorithm(Collective::all_to_all_v, "pairwise"), shape))
        texts.insert(item.text);
    EXPECT_EQ(texts.size(), 18u);  // two sizes of four shapes and one of the empty one, twice
    for (const char* text : {"amounts=uneven*1", "amounts=one_hot*13", "amounts=all_zero*1", "amounts=gaps*13,known_matrix=no"})
        EXPECT_TRUE(texts.contains(text)) << text;
}

TEST(ProofSweep, FollowsNodeMapsWhereTheyMatter) {
    EXPECT_EQ(sweep_node_maps(1), (std::vector<std::string>{"1x1"}));
    const std::vector<std::string> maps = sweep_node_maps(6);
    EXPECT_EQ(maps.size(), 5u);
    for (const char* map : {"1x6", "6x1", "3x2"})
        EXPECT_NE(std::ranges::find(maps, map), maps.end()) << map;
    Problem shape = of_count(Collective::all_reduce, 0);
    shape.ranks = 6;
    const std::size_t counts = sweep_counts(Collective::all_reduce, 6).size();
    EXPECT_EQ(sweep_problems(*find_algorithm(Collective::all_reduce, "two_level"), shape).size(), 5 * counts);
    EXPECT_EQ(sweep_problems(*find_algorithm(Collective::all_reduce, "ring"), shape).size(), counts);
}

TEST(ProofSweep, ProvesAveragesOfWhatDivides) {
    ProofSweep sweep(options_for({3}));
    const std::uint64_t sums_and_averages = sweep.run(*find_algorithm(Collective::reduce_scatter, "ring")).proved;
    const std::uint64_t prefixes = sweep.run(*find_algorithm(Collective::scan, "linear")).proved;
    EXPECT_EQ(sums_and_averages, 2 * prefixes);  // the same counts and cuts
}

TEST(ProofSweep, StopsWhenAsked) {
    SweepOptions options = options_for({3});
    int asked = 0;
    options.stop = [&] { return ++asked > 2; };
    const SweepResult result = ProofSweep(options).run(*find_algorithm(Collective::broadcast, "chain"));
    EXPECT_TRUE(result.stopped);
    EXPECT_EQ(result.proved, 2u);
}

}  // namespace
}  // namespace attune::collectives
