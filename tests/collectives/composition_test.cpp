// Builder and composition: what the composed programs look like, and that they still compute the same.
#include "collectives/composition.hpp"

#include "collectives/algorithms/algorithms.hpp"
#include "collectives/catalogue.hpp"
#include "collectives/node_map.hpp"
#include "collectives/sample_amounts.hpp"
#include "collectives/verifier.hpp"
#include "libcore/error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace attune::collectives {
namespace {

constexpr Slice input{BufferId::input, 0, 8};
constexpr Slice output{BufferId::output, 0, 8};

std::vector<std::string> text_of(std::span<const Step> steps) {
    std::vector<std::string> lines;
    for (const Step& step : steps)
        lines.push_back(describe(step));
    return lines;
}

using Lines = std::vector<std::string>;

TEST(Builder, WritesFoldsAsRunsOfJoinedSteps) {
    Builder builder(0);
    const std::array terms = {Term::local(input), Term::message(1), Term::local(output)};
    builder.fold(terms, output);
    builder.recv_reduce(2, output);
    builder.end_round();
    EXPECT_EQ(text_of(builder.finish().steps),
              (Lines{"copy input[0,8) -> output[0,8) ch0", "joined recv 1 output[0,8) ch0", "joined reduce output[0,8) -> output[0,8) ch0",
                     "recv 2 output[0,8) ch0", "joined reduce output[0,8) -> output[0,8) ch0"}));
}

TEST(Builder, LeavesOutStepsWithoutElementsUnlessAsked) {
    for (const bool keep : {false, true}) {
        Builder builder(0, keep ? Builder::Empty::keep : Builder::Empty::drop);
        const std::array<Rank, 2> peers = {1, 2};
        builder.multicast(peers, input.part(8, 0));
        builder.recv(1, output.part(3, 0));
        builder.end_round();
        const Program program = builder.finish();
        EXPECT_EQ(program.steps.size(), keep ? 3u : 0u);
        EXPECT_EQ(program.rounds(), 1u);
    }
}

TEST(Builder, GivesDistinctScratchAndStartsAgainAfterFinish) {
    Builder builder(5);
    EXPECT_EQ(builder.scratch(3).offset, 0u);
    EXPECT_EQ(builder.scratch(4).offset, 3u);
    EXPECT_EQ(builder.finish().scratch_elements, 7u);
    const Program again = builder.finish();
    EXPECT_EQ(again.scratch_elements, 0u);
    EXPECT_EQ(again.rank, 5);
}

Program two_rounds(Rank rank, Rank peer) {
    Builder builder(rank);
    const Slice scratch = builder.scratch(8);
    builder.copy(input, scratch);
    builder.send(peer, input);
    builder.end_round();
    builder.send(peer, scratch);
    builder.recv(peer, scratch);
    builder.end_round();
    return builder.finish();
}

TEST(Then, ShiftsRoundsAndSharesScratch) {
    const Program program = then(two_rounds(0, 1), two_rounds(0, 2));
    EXPECT_EQ(program.rounds(), 4u);
    EXPECT_EQ(program.scratch_elements, 8u);
    EXPECT_EQ(text_of(program.round(2)), text_of(two_rounds(0, 2).round(0)));
    EXPECT_EQ(text_of(program.round(3)), text_of(two_rounds(0, 2).round(1)));
}

TEST(Pipelined, RunsRoundsOfSegmentsInTicksSendsFirst) {
    const std::array segments = {two_rounds(0, 1), two_rounds(0, 1)};
    const Program program = pipelined(segments);
    EXPECT_EQ(program.rounds(), 3u);
    EXPECT_EQ(program.scratch_elements, 16u);
    EXPECT_EQ(text_of(program.round(0)), (Lines{"send 1 input[0,8) ch0", "copy input[0,8) -> scratch[0,8) ch0"}));
    // Round 1 of the first segment with round 0 of the second, whose scratch lies behind.
    EXPECT_EQ(text_of(program.round(1)),
              (Lines{"send 1 scratch[0,8) ch0", "send 1 input[0,8) ch0", "recv 1 scratch[0,8) ch0", "copy input[0,8) -> scratch[8,16) ch0"}));
    EXPECT_EQ(text_of(program.round(2)), (Lines{"send 1 scratch[8,16) ch0", "recv 1 scratch[8,16) ch0"}));
}

TEST(Pipelined, HandlesSegmentsWithoutRounds) {
    const std::array<Program, 2> empty{};
    EXPECT_EQ(pipelined(empty).rounds(), 0u);
}

TEST(OnRanks, NamesMembersAndGivesOthersAsManyEmptyRounds) {
    const std::array<Rank, 3> members = {4, 1, 7};
    const auto local = [](Rank rank) { return two_rounds(rank, (rank + 1) % 3); };
    const Program member = on_ranks(members, 1, local);
    EXPECT_EQ(member.rank, 1);
    EXPECT_EQ(text_of(member.round(1)), (Lines{"send 7 scratch[0,8) ch0", "recv 7 scratch[0,8) ch0"}));
    const Program other = on_ranks(members, 5, local);
    EXPECT_EQ(other.rank, 5);
    EXPECT_EQ(other.rounds(), 2u);
    EXPECT_TRUE(other.steps.empty());
}

TEST(Split, NumbersChannelsAndSeparatesTheirScratch) {
    const std::array channels = {two_rounds(0, 1), two_rounds(0, 1)};
    const Schedule schedule = split(channels);
    EXPECT_EQ(schedule.scratch_elements, 16u);
    EXPECT_EQ(describe(schedule.steps.back()), "recv 1 scratch[8,16) ch1");
    EXPECT_THROW(split({}), core::Error);
    EXPECT_THROW(split(std::vector<Program>(5)), core::Error);
}

// A broadcast of two levels: the root tells the first rank of each pair, who tells the second.
TEST(Composition, OfTwoLevelsIsProved) {
    Problem problem;
    problem.collective = Collective::broadcast;
    problem.ranks = 6;
    problem.count = 9;
    const auto segment = [&](Rank rank, std::uint64_t begin, std::uint64_t length) {
        const std::array<Rank, 3> leaders = {0, 2, 4};
        Program program = on_ranks(leaders, rank, [&](Rank local) {
            Builder builder(local);
            const std::array<Rank, 2> others = {1, 2};
            if (local == 0) builder.multicast(others, input.part(begin, length));
            if (local == 0) builder.copy(input.part(begin, length), output.part(begin, length));
            if (local != 0) builder.recv(0, output.part(begin, length));
            builder.end_round();
            return builder.finish();
        });
        for (Rank leader = 0; leader < 6; leader += 2) {
            const std::array<Rank, 2> pair = {leader, leader + 1};
            program = then(program, on_ranks(pair, rank, [&](Rank local) {
                               Builder builder(local);
                               if (local == 0) builder.send(1, output.part(begin, length));
                               if (local == 1) builder.recv(0, output.part(begin, length));
                               builder.end_round();
                               return builder.finish();
                           }));
        }
        return program;
    };
    std::vector<Schedule> schedules;
    for (Rank rank = 0; rank < 6; ++rank) {
        const std::array segments = {segment(rank, 0, 4), segment(rank, 4, 5)};
        const std::array channels = {pipelined(segments)};
        schedules.push_back(split(channels));
        EXPECT_EQ(segments[0].rounds(), 4u);
    }
    EXPECT_EQ(refute(problem, schedules).value_or("proved"), "proved");
}

TEST(Rounds, AreAsManyOnEveryRank) {
    for (const Algorithm& algorithm : catalogue()) {
        for (int ranks = 1; ranks <= 9; ++ranks) {
            Problem problem;
            problem.collective = algorithm.collective;
            problem.ranks = ranks;
            problem.root = ranks - 1;
            problem = with_sample_amounts(problem, AmountsShape::uneven, 20);
            if (algorithm.constraints.uses_nodes) problem.node_map = NodeMap::blocks(ranks, 2).text();
            const std::size_t rounds = algorithm.program({problem, 0, 0, problem.count}).rounds();
            for (Rank rank = 1; rank < ranks; ++rank)
                EXPECT_EQ(algorithm.program({problem, rank, 0, problem.count}).rounds(), rounds) << algorithm.name << " " << ranks;
        }
    }
}

}  // namespace
}  // namespace attune::collectives
