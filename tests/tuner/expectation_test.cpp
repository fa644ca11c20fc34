// What each collective must leave, as its definition says, by hand for three ranks.
#include "tuner/engine/expectation.hpp"

#include "tuner/traffic.hpp"

#include <gtest/gtest.h>

namespace attune::tuner::engine {
namespace {

using collectives::Collective;
using collectives::Problem;
using Pieces = std::vector<Piece>;

Problem problem_of(Collective collective, bool in_place = false) {
    Problem problem;
    problem.collective = collective;
    problem.ranks = 3;
    problem.root = 1;
    problem.count = 10;
    problem.in_place = in_place;
    return problem;
}

Problem with(Problem problem, const collectives::Amounts& amounts) {
    problem.count = 0;
    problem.amounts = std::make_shared<const collectives::Amounts>(amounts);
    return problem;
}

Pieces pieces(Collective collective, int rank) {
    return expected_pieces(problem_of(collective), rank);
}

TEST(Expectation, ReductionsTakeAllRanksAndScansThoseUpToTheirOwn) {
    EXPECT_EQ(pieces(Collective::all_reduce, 2), (Pieces{{0, 10, 0, 3, 0}}));
    EXPECT_EQ(pieces(Collective::reduce, 1), (Pieces{{0, 10, 0, 3, 0}}));
    EXPECT_EQ(pieces(Collective::reduce, 0), Pieces{});
    EXPECT_EQ(pieces(Collective::reduce_scatter, 2), (Pieces{{0, 10, 0, 3, 20}}));
    EXPECT_EQ(pieces(Collective::scan, 0), (Pieces{{0, 10, 0, 1, 0}}));
    EXPECT_EQ(pieces(Collective::scan, 2), (Pieces{{0, 10, 0, 3, 0}}));
    EXPECT_EQ(pieces(Collective::exscan, 0), Pieces{});
    EXPECT_EQ(pieces(Collective::exscan, 2), (Pieces{{0, 10, 0, 2, 0}}));
}

TEST(Expectation, MovedBlocksComeFromTheirOwners) {
    EXPECT_EQ(pieces(Collective::broadcast, 0), (Pieces{{0, 10, 1, 2, 0}}));
    EXPECT_EQ(pieces(Collective::all_gather, 0), (Pieces{{0, 10, 0, 1, 0}, {10, 10, 1, 2, 0}, {20, 10, 2, 3, 0}}));
    EXPECT_EQ(pieces(Collective::gather, 1), pieces(Collective::all_gather, 0));
    EXPECT_EQ(pieces(Collective::gather, 2), Pieces{});
    EXPECT_EQ(pieces(Collective::scatter, 2), (Pieces{{0, 10, 1, 2, 20}}));
    EXPECT_EQ(pieces(Collective::all_to_all, 2), (Pieces{{0, 10, 0, 1, 20}, {10, 10, 1, 2, 20}, {20, 10, 2, 3, 20}}));
    EXPECT_EQ(pieces(Collective::barrier, 0), Pieces{});
}

// Uneven totals of 30: blocks 0, 10 and 20.
TEST(Expectation, BlocksOfTheVFormsLieAtTheirOffsets) {
    const auto at = [](Collective collective, int rank) { return expected_pieces(with_amounts(problem_of(collective), AmountPattern::uneven, 30), rank); };
    const Pieces gathered = {{0, 0, 0, 1, 0}, {0, 10, 1, 2, 0}, {10, 20, 2, 3, 0}};
    EXPECT_EQ(at(Collective::all_gather_v, 0), gathered);
    EXPECT_EQ(at(Collective::gather_v, 1), gathered);
    EXPECT_EQ(at(Collective::gather_v, 0), Pieces{});
    EXPECT_EQ(at(Collective::scatter_v, 2), (Pieces{{0, 20, 1, 2, 10}}));
    EXPECT_EQ(at(Collective::reduce_scatter_v, 1), (Pieces{{0, 10, 0, 3, 0}}));
}

TEST(Expectation, GivenOffsetsHoldInsteadOfPackedOnes) {
    collectives::Amounts amounts;
    amounts.receive = {1, 2, 3};
    amounts.receive_offsets = {7, 0, 3};
    const Problem problem = with(problem_of(Collective::all_gather_v), amounts);
    EXPECT_EQ(expected_pieces(problem, 0), (Pieces{{7, 1, 0, 1, 0}, {0, 2, 1, 2, 0}, {3, 3, 2, 3, 0}}));
}

TEST(Expectation, BlocksOfAllToAllVAreFoundInTheRowsOfTheirSenders) {
    collectives::Amounts amounts;
    amounts.matrix = {1, 2, 3, 4, 5, 6, 0, 8, 9};
    const Problem problem = with(problem_of(Collective::all_to_all_v), amounts);
    EXPECT_EQ(expected_pieces(problem, 1), (Pieces{{0, 2, 0, 1, 1}, {2, 5, 1, 2, 4}, {7, 8, 2, 3, 0}}));
    EXPECT_EQ(expected_pieces(problem, 0), (Pieces{{0, 1, 0, 1, 0}, {1, 4, 1, 2, 0}, {5, 0, 2, 3, 0}}));
}

TEST(Expectation, MessagesGoToTheirReceivers) {
    const Problem ring = with_partners(problem_of(Collective::send_recv), PairPattern::ring, 4);
    EXPECT_EQ(expected_pieces(ring, 0), (Pieces{{0, 4, 2, 3, 0}}));
    const Problem pair = with_partners(problem_of(Collective::send_recv), PairPattern::one_way, 4);
    EXPECT_EQ(expected_pieces(pair, 1), (Pieces{{0, 4, 0, 1, 0}}));
    EXPECT_EQ(expected_pieces(pair, 0), Pieces{});
    EXPECT_FALSE(has_input(pair, 1));
    EXPECT_TRUE(has_input(pair, 0));
    const Problem both = with_neighbours(problem_of(Collective::batch_send_recv), 4);
    EXPECT_EQ(expected_pieces(both, 0), (Pieces{{4, 4, 1, 2, 4}, {0, 4, 2, 3, 0}}));
}

TEST(Expectation, TwoMessagesOfOnePairMeetInOrder) {
    Problem problem = problem_of(Collective::batch_send_recv);
    problem.ranks = 2;
    collectives::Amounts amounts;
    amounts.transfers = {{.is_send = true, .peer = 1, .count = 3, .offset = 5, .rank = 0},
                         {.is_send = true, .peer = 1, .count = 2, .offset = 0, .rank = 0},
                         {.is_send = false, .peer = 0, .count = 3, .offset = 2, .rank = 1},
                         {.is_send = false, .peer = 0, .count = 2, .offset = 0, .rank = 1}};
    EXPECT_EQ(expected_pieces(with(problem, amounts), 1), (Pieces{{2, 3, 0, 1, 5}, {0, 2, 0, 1, 0}}));
}

TEST(Expectation, InPlaceAnInputIsKeptWhereTheResultDoesNotTakeItsPlace) {
    const auto kept = [](Collective collective, int rank) { return input_survives(problem_of(collective, true), rank); };
    EXPECT_FALSE(kept(Collective::all_reduce, 0));
    EXPECT_TRUE(kept(Collective::reduce, 0));
    EXPECT_FALSE(kept(Collective::reduce, 1));
    EXPECT_TRUE(kept(Collective::gather, 0));
    EXPECT_TRUE(kept(Collective::scatter, 1));
    EXPECT_FALSE(kept(Collective::all_to_all, 0));
    EXPECT_TRUE(kept(Collective::exscan, 0));
    EXPECT_FALSE(kept(Collective::exscan, 1));
    EXPECT_TRUE(input_survives(problem_of(Collective::all_reduce), 0));
}

}  // namespace
}  // namespace attune::tuner::engine
