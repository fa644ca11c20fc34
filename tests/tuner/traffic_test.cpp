// Amounts and partners: they add up, fit together, and are what their names say.
#include "tuner/traffic.hpp"

#include "collectives/amounts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace attune::tuner {
namespace {

using collectives::Collective;
using collectives::Problem;
using Counts = std::vector<std::uint64_t>;

constexpr std::array patterns = {AmountPattern::balanced, AmountPattern::uneven, AmountPattern::one_hot, AmountPattern::zero};

Problem shape_of(Collective collective, int ranks) {
    Problem problem;
    problem.collective = collective;
    problem.ranks = ranks;
    return problem;
}

TEST(Blocks, AddUpToTheTotalOrToNothing) {
    for (const AmountPattern pattern : patterns) {
        for (const int ranks : {1, 2, 3, 7, 12}) {
            for (const std::uint64_t total : {0, 1, 5, 97, 4096}) {
                const Counts blocks = blocks_of(pattern, ranks, total);
                EXPECT_EQ(blocks.size(), static_cast<std::size_t>(ranks));
                EXPECT_EQ(std::accumulate(blocks.begin(), blocks.end(), std::uint64_t{0}), pattern == AmountPattern::zero ? 0 : total);
            }
        }
    }
}

TEST(Blocks, AreWhatTheirNamesSay) {
    EXPECT_EQ(blocks_of(AmountPattern::balanced, 4, 10), (Counts{3, 3, 2, 2}));
    EXPECT_EQ(blocks_of(AmountPattern::uneven, 4, 12), (Counts{0, 2, 4, 6}));
    EXPECT_EQ(blocks_of(AmountPattern::one_hot, 3, 12), (Counts{0, 0, 12}));
    EXPECT_EQ(blocks_of(AmountPattern::uneven, 3, std::uint64_t{1} << 62)[2], (std::uint64_t{1} << 62) - (std::uint64_t{1} << 62) / 3);
}

TEST(Amounts, OfEveryPatternMakeAProblemThatEveryRankAccepts) {
    for (const Collective collective : collectives::all_collectives()) {
        const bool v_form = collectives::has_amounts(collective) && collective != Collective::send_recv && collective != Collective::batch_send_recv;
        if (!v_form) continue;
        for (const AmountPattern pattern : patterns) {
            for (const int ranks : {1, 2, 5}) {
                const Problem problem = with_amounts(shape_of(collective, ranks), pattern, 101);
                EXPECT_FALSE(collectives::wrong_amounts(problem)) << name_of(collective) << ": " << collectives::wrong_amounts(problem).value_or("");
                for (int rank = 0; rank < ranks; ++rank) {
                    const auto wrong = collectives::wrong_amounts(collectives::view_of(problem, rank), rank);
                    EXPECT_FALSE(wrong) << name_of(collective) << " rank " << rank << ": " << wrong.value_or("");
                }
            }
        }
    }
}

TEST(Amounts, UnevenMatricesHaveASilentRankAndOneHotOnesASingleReceiver) {
    const Problem uneven = with_amounts(shape_of(Collective::all_to_all_v, 3), AmountPattern::uneven, 300);
    EXPECT_EQ(Counts(uneven.amounts->matrix.end() - 3, uneven.amounts->matrix.end()), (Counts{0, 0, 0}));
    EXPECT_GT(uneven.bytes(), 0u);
    const Problem hot = with_amounts(shape_of(Collective::all_to_all_v, 3), AmountPattern::one_hot, 300);
    EXPECT_EQ(hot.amounts->matrix, (Counts{0, 0, 100, 0, 0, 100, 0, 0, 100}));
    EXPECT_EQ(hot.bytes(), 1200u);
}

TEST(Partners, EverySendHasItsReceive) {
    for (const PairPattern pattern : {PairPattern::ring, PairPattern::one_way, PairPattern::both_ways, PairPattern::halves}) {
        for (const int ranks : {1, 2, 3, 6}) {
            const Problem problem = with_partners(shape_of(Collective::send_recv, ranks), pattern, 7);
            int sends = 0;
            for (int rank = 0; rank < ranks; ++rank) {
                const Problem view = collectives::view_of(problem, rank);
                ASSERT_FALSE(collectives::wrong_amounts(view, rank));
                if (view.amounts->destination < 0) continue;
                ++sends;
                EXPECT_EQ(collectives::view_of(problem, view.amounts->destination).amounts->source, rank);
            }
            EXPECT_EQ(sends, messages_of(pattern, ranks)) << static_cast<int>(pattern) << " ranks " << ranks;
        }
    }
}

TEST(Partners, NeighboursSendAndReceiveTwice) {
    for (const int ranks : {1, 2, 5}) {
        const Problem problem = with_neighbours(shape_of(Collective::batch_send_recv, ranks), 7);
        for (int rank = 0; rank < ranks; ++rank) {
            const Problem view = collectives::view_of(problem, rank);
            EXPECT_FALSE(collectives::wrong_amounts(view, rank));
            EXPECT_EQ(view.amounts->transfers.size(), 4u);
            EXPECT_EQ(view.input_elements(rank), 14u);
            EXPECT_EQ(view.output_elements(rank), 14u);
        }
    }
}

}  // namespace
}  // namespace attune::tuner
