// Problems with and without amounts: what each rank passes, one rank's view of all, and every way in which amounts are wrong.
#include "collectives/amounts.hpp"
#include "collectives/sample_amounts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace attune::collectives {
namespace {

using testing::HasSubstr;
using Sizes = std::vector<std::uint64_t>;

Problem problem_of(Collective collective, int ranks, std::uint64_t count = 0) {
    Problem problem;
    problem.collective = collective;
    problem.ranks = ranks;
    problem.count = count;
    return problem;
}

Problem with(Problem problem, Amounts amounts) {
    problem.amounts = std::make_shared<const Amounts>(std::move(amounts));
    return problem;
}

Sizes inputs_of(const Problem& problem) {
    Sizes sizes;
    for (Rank rank = 0; rank < problem.ranks; ++rank)
        sizes.push_back(problem.input_elements(rank));
    return sizes;
}
Sizes outputs_of(const Problem& problem) {
    Sizes sizes;
    for (Rank rank = 0; rank < problem.ranks; ++rank)
        sizes.push_back(problem.output_elements(rank));
    return sizes;
}

TEST(ProblemSizes, AreWhatEachRankPasses) {
    struct Line {
        Collective collective;
        Sizes inputs, outputs;
    };
    using enum Collective;
    const std::vector<Line> lines = {
        {all_reduce, {5, 5, 5}, {5, 5, 5}}, {all_gather, {5, 5, 5}, {15, 15, 15}},      {reduce_scatter, {15, 15, 15}, {5, 5, 5}},
        {broadcast, {0, 5, 0}, {5, 5, 5}},  {Collective::reduce, {5, 5, 5}, {0, 5, 0}}, {gather, {5, 5, 5}, {0, 15, 0}},
        {scatter, {0, 15, 0}, {5, 5, 5}},   {all_to_all, {15, 15, 15}, {15, 15, 15}},   {scan, {5, 5, 5}, {5, 5, 5}},
        {exscan, {5, 5, 5}, {5, 5, 5}},
    };
    for (const Line& line : lines) {
        Problem problem = problem_of(line.collective, 3, 5);
        problem.root = 1;
        EXPECT_EQ(inputs_of(problem), line.inputs) << name_of(line.collective);
        EXPECT_EQ(outputs_of(problem), line.outputs) << name_of(line.collective);
        EXPECT_EQ(problem.bytes(), 4 * problem.in_place_elements());
        EXPECT_EQ(problem.key_bytes(), problem.bytes());
    }
}

TEST(ProblemSizes, OfAmountsAreTheOwnBlocks) {
    const Problem gathers = with(problem_of(Collective::all_gather_v, 3), {.receive = {2, 0, 7}});
    EXPECT_EQ(inputs_of(gathers), (Sizes{2, 0, 7}));
    EXPECT_EQ(outputs_of(gathers), (Sizes{9, 9, 9}));
    EXPECT_EQ(gathers.key_bytes(), 36u);
    const Problem spaced = with(problem_of(Collective::reduce_scatter_v, 3), {.send = {2, 0, 7}, .send_offsets = {10, 0, 1}});
    EXPECT_EQ(inputs_of(spaced), (Sizes{12, 12, 12}));
    EXPECT_EQ(outputs_of(spaced), (Sizes{2, 0, 7}));
    EXPECT_EQ(spaced.key_bytes(), 36u);  // gaps are no elements
    EXPECT_EQ(spaced.in_place_elements(), 12u);
    const Problem exchange = with(problem_of(Collective::all_to_all_v, 2), {.matrix = {1, 2, 3, 4}});
    EXPECT_EQ(inputs_of(exchange), (Sizes{3, 7}));
    EXPECT_EQ(outputs_of(exchange), (Sizes{4, 6}));
    EXPECT_EQ(exchange.key_bytes(), 0u);
}

TEST(ProblemSizes, PlaceOwnBlocksInTheOneBuffer) {
    const Problem gathers = with(problem_of(Collective::all_gather_v, 3), {.receive = {2, 0, 7}});
    const Problem scatters = with(problem_of(Collective::reduce_scatter_v, 3), {.send = {2, 3, 7}, .send_offsets = {10, 20, 0}});
    EXPECT_EQ(in_place_input_offset(gathers, 2), 2u);
    EXPECT_EQ(in_place_output_offset(gathers, 2), 0u);
    EXPECT_EQ(in_place_output_offset(scatters, 1), 20u);
    EXPECT_EQ(in_place_input_offset(problem_of(Collective::gather, 3, 5), 2), 10u);
    EXPECT_EQ(in_place_output_offset(problem_of(Collective::scatter, 3, 5), 2), 10u);
    EXPECT_EQ(in_place_output_offset(problem_of(Collective::all_to_all, 3, 5), 2), 0u);
}

TEST(Problems, AreEqualWhenTheContentsOfTheirAmountsAre) {
    const Problem one = with(problem_of(Collective::all_gather_v, 2), {.receive = {1, 2}});
    EXPECT_EQ(one, with(problem_of(Collective::all_gather_v, 2), {.receive = {1, 2}}));
    EXPECT_FALSE(one == with(problem_of(Collective::all_gather_v, 2), {.receive = {2, 1}}));
    EXPECT_FALSE(one == problem_of(Collective::all_gather_v, 2));
}

TEST(Views, AreWhatOneRankKnows) {
    Problem gathers = with(problem_of(Collective::gather_v, 3), {.receive = {2, 0, 7}, .receive_offsets = {7, 9, 0}});
    gathers.root = 2;
    EXPECT_EQ(*view_of(gathers, 0).amounts, (Amounts{.send = {2}}));
    EXPECT_EQ(*view_of(gathers, 2).amounts, (Amounts{.send = {7}, .receive = {2, 0, 7}, .receive_offsets = {7, 9, 0}}));
    const Problem scatters = with(problem_of(Collective::scatter_v, 2), {.send = {2, 5}});
    EXPECT_EQ(*view_of(scatters, 0).amounts, (Amounts{.send = {2, 5}, .receive = {2}}));
    EXPECT_EQ(*view_of(scatters, 1).amounts, (Amounts{.receive = {5}}));
    const Problem exchange = with(problem_of(Collective::all_to_all_v, 2), {.matrix = {1, 2, 3, 4}});
    EXPECT_EQ(*view_of(exchange, 1).amounts, (Amounts{.send = {3, 4}, .receive = {2, 4}}));
    EXPECT_EQ(send_blocks(exchange, 1), send_blocks(view_of(exchange, 1), 1));
    EXPECT_EQ(receive_blocks(exchange, 0), receive_blocks(view_of(exchange, 0), 0));
}

TEST(Views, OfMessagesAreTheOwnOnes) {
    const std::vector<Transfer> all = {{true, 1, 4, 0, 0}, {false, 0, 4, 9, 1}};
    const Problem pair = with(problem_of(Collective::send_recv, 2, 4), {.transfers = all});
    EXPECT_EQ(*view_of(pair, 0).amounts, (Amounts{.destination = 1}));
    EXPECT_EQ(*view_of(pair, 1).amounts, (Amounts{.source = 0}));
    const Problem batch = with(problem_of(Collective::batch_send_recv, 2), {.transfers = all});
    EXPECT_EQ(view_of(batch, 1).amounts->transfers, (std::vector<Transfer>{{false, 0, 4, 9, -1}}));
    EXPECT_EQ(inputs_of(batch), (Sizes{4, 0}));
    EXPECT_EQ(outputs_of(batch), (Sizes{0, 13}));
}

TEST(Views, OfViewsAreTheViews) {
    for (const Collective collective : all_collectives()) {
        for (const AmountsShape shape : all_amounts_shapes()) {
            const Problem global = with_sample_amounts(problem_of(collective, 5), shape, 7);
            for (Rank rank = 0; rank < 5; ++rank) {
                const Problem view = view_of(global, rank);
                EXPECT_EQ(view_of(view, rank), view) << name_of(collective);
                EXPECT_EQ(view.input_elements(rank), global.input_elements(rank)) << name_of(collective) << " " << name_of(shape);
                EXPECT_EQ(view.output_elements(rank), global.output_elements(rank)) << name_of(collective) << " " << name_of(shape);
                EXPECT_EQ(wrong_amounts(view, rank), std::nullopt) << name_of(collective) << " " << name_of(shape);
            }
            EXPECT_EQ(wrong_amounts(global), std::nullopt) << name_of(collective);
        }
    }
}

std::string why(const Problem& problem) {
    return wrong_amounts(problem).value_or("right");
}
std::string why(Collective collective, Amounts amounts) {
    return why(with(problem_of(collective, 3), std::move(amounts)));
}
std::string why(Collective collective, Amounts amounts, Rank rank) {
    return wrong_amounts(with(problem_of(collective, 3), std::move(amounts)), rank).value_or("right");
}

constexpr std::uint64_t huge = std::uint64_t{1} << 57;

TEST(WrongAmounts, AreNamed) {
    using enum Collective;
    EXPECT_THAT(why(problem_of(all_gather_v, 3)), HasSubstr("all_gather_v needs the amounts"));
    EXPECT_THAT(why(with(problem_of(all_gather_v, 3, 5), {.receive = {1, 1, 1}})), HasSubstr("count 5 for all_gather_v"));
    EXPECT_THAT(why(all_gather_v, {.receive = {1, 1}}), HasSubstr("receive has 2 entries; 3 are needed"));
    EXPECT_THAT(why(all_gather_v, {.receive = {1, 1, 1}, .receive_offsets = {0, 1}}), HasSubstr("receive_offsets has 2 entries"));
    EXPECT_THAT(why(all_gather_v, {.receive = {4, 1, 1}, .receive_offsets = {0, 3, 9}}), HasSubstr("overlap: one begins at element 3, within the 4"));
    EXPECT_THAT(why(all_gather_v, {.receive = {huge, 1, 1}}), HasSubstr("more than 2^56"));
    EXPECT_THAT(why(all_gather_v, {.receive = {1, 1, 1}, .receive_offsets = {0, 3, huge}}), HasSubstr("above 2^56"));
    EXPECT_THAT(why(reduce_scatter_v, {.send = {4, 1, 1}, .send_offsets = {0, 3, 9}}), HasSubstr("overlap"));
    EXPECT_THAT(why(gather_v, {}), HasSubstr("neither send nor receive"));
    EXPECT_THAT(why(gather_v, {.send = {1, 2}}), HasSubstr("send has 2 entries; 1 is needed, the own one"));
    EXPECT_THAT(why(scatter_v, {.send = {1, 2}, .receive = {1}}), HasSubstr("send has 2 entries; 3"));
    EXPECT_THAT(why(all_to_all_v, {.send = {1, 2, 3}}), HasSubstr("receive has 0 entries"));
    EXPECT_THAT(why(all_to_all_v, {.send = {1, 2, 3}, .matrix = Sizes(9, 1)}), HasSubstr("both the matrix and own counts"));
    EXPECT_THAT(why(all_to_all_v, {.matrix = Sizes(8, 1)}), HasSubstr("the matrix has 8 entries; 3 ranks need 9"));
    EXPECT_THAT(why(send_recv, {.destination = 3}), HasSubstr("destination 3 of 3 ranks; it is -1 to 2"));
    EXPECT_THAT(why(send_recv, {.source = -2}), HasSubstr("source -2 of 3 ranks"));
    EXPECT_THAT(why(batch_send_recv, {.transfers = {{true, 7, 1, 0}}}), HasSubstr("peer 7 of 3 ranks"));
    EXPECT_THAT(why(batch_send_recv, {.transfers = {{true, 1, huge, 0}}}), HasSubstr("above 2^56"));
    EXPECT_THAT(why(batch_send_recv, {.transfers = {{false, 1, 4, 0}, {false, 2, 4, 3}}}), HasSubstr("the receives overlap"));
}

TEST(WrongAmounts, ThatOnlyOneRankSeesAreNamedThere) {
    using enum Collective;
    EXPECT_THAT(why(gather_v, {.send = {2}}, 0), HasSubstr("the root needs the counts of all ranks"));
    EXPECT_EQ(why(gather_v, {.send = {2}}, 1), "right");
    EXPECT_THAT(why(gather_v, {.send = {2}, .receive = {3, 1, 1}}, 0), HasSubstr("sends 2 elements to itself, but receives 3"));
    EXPECT_THAT(why(scatter_v, {.send = {2, 1, 1}, .receive = {3}}, 0), HasSubstr("sends 3 elements to itself, but receives 2"));
    EXPECT_THAT(why(all_to_all_v, {.send = {1, 2, 3}, .receive = {1, 1, 1}}, 1), HasSubstr("sends 2 elements to itself, but receives 1"));
    EXPECT_THAT(why(send_recv, {.destination = 1}, 1), HasSubstr("itself as destination or source, but not as both"));
    EXPECT_THAT(why(batch_send_recv, {.transfers = {{true, 1, 4, 0}}}, 1), HasSubstr("to itself are not received"));
}

}  // namespace
}  // namespace attune::collectives
