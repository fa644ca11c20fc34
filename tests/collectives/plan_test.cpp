// The plan compiler: merging, folds, aliasing, hazards, and every refusal.
#include "collectives/plan.hpp"

#include "libcore/error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace attune::collectives {
namespace {

struct Where {
    BufferId buffer;
    std::uint64_t offset;
};

Step make(StepKind kind, Where from, Where to, std::uint64_t length) {
    Step step;
    step.kind = kind;
    step.source = from.buffer;
    step.source_offset = from.offset;
    step.destination = to.buffer;
    step.destination_offset = to.offset;
    step.length = length;
    return step;
}
Step send(Rank peer, Where from, std::uint64_t length, std::uint8_t channel = 0) {
    Step step = make(StepKind::send, from, {BufferId::output, 0}, length);
    step.peer = peer;
    step.channel = channel;
    return step;
}
Step recv(Rank peer, Where to, std::uint64_t length, bool joined = false) {
    Step step = make(StepKind::recv, {BufferId::input, 0}, to, length);
    step.peer = peer;
    step.joined = joined;
    return step;
}
Step local(StepKind kind, Where from, Where to, std::uint64_t length) {
    Step step = make(kind, from, to, length);
    step.joined = kind == StepKind::reduce;
    return step;
}

constexpr BufferId in = BufferId::input, out = BufferId::output, scratch = BufferId::scratch;

Problem all_reduce(int ranks, std::uint64_t count, bool in_place = false) {
    return {.collective = Collective::all_reduce, .ranks = ranks, .count = count, .in_place = in_place, .node_map = {}};
}

Plan compiled(const Problem& problem, std::vector<Step> steps, std::uint64_t scratch_elements = 0, Rank rank = 0) {
    return compile(problem, {.rank = rank, .scratch_elements = scratch_elements, .steps = std::move(steps)}, {});
}

std::vector<Rank> peers_of(const Plan& plan, const Operation& operation) {
    return {plan.peers.begin() + operation.first_peer, plan.peers.begin() + operation.first_peer + operation.peer_count};
}
std::vector<std::uint32_t> hazards_of(const Plan& plan, const Operation& operation) {
    return {plan.hazards.begin() + operation.first_hazard, plan.hazards.begin() + operation.first_hazard + operation.hazard_count};
}

TEST(Plan, SendsOfOneSliceBecomeOneMulticast) {
    const Plan plan = compiled(all_reduce(4, 8), {send(1, {in, 0}, 4), send(2, {in, 0}, 4), send(3, {in, 0}, 4), send(3, {in, 4}, 4)});
    ASSERT_EQ(plan.operations.size(), 2U);
    EXPECT_EQ(peers_of(plan, plan.operations[0]), (std::vector<Rank>{1, 2, 3}));
    EXPECT_EQ(plan.operations[0].length, 16U);
    EXPECT_EQ(peers_of(plan, plan.operations[1]), std::vector<Rank>{3});
    EXPECT_EQ(plan.operations[1].offset, 16U);
}

TEST(Plan, TwoMessagesOfOneSliceToOnePeerStayTwo) {
    const Plan plan = compiled(all_reduce(3, 4), {send(1, {in, 0}, 4), send(2, {in, 0}, 4), send(1, {in, 0}, 4)});
    ASSERT_EQ(plan.operations.size(), 2U);
    EXPECT_EQ(plan.operations[0].peer_count, 2U);
    EXPECT_EQ(peers_of(plan, plan.operations[1]), std::vector<Rank>{1});
}

TEST(Plan, AFoldBetweenTwoSendsKeepsThemApart) {
    const Plan plan = compiled(all_reduce(3, 4), {send(1, {out, 0}, 4), recv(1, {out, 0}, 4), send(2, {out, 0}, 4)});
    EXPECT_EQ(plan.operations.size(), 3U);
}

TEST(Plan, JoinedStepsBecomeOneFoldInOrder) {
    const Plan plan = compiled(all_reduce(3, 4), {recv(1, {out, 0}, 4), local(StepKind::reduce, {in, 0}, {out, 0}, 4), recv(2, {out, 0}, 4, true)});
    ASSERT_EQ(plan.operations.size(), 1U);
    ASSERT_EQ(plan.operations[0].source_count, 3U);
    EXPECT_EQ(plan.sources[0].peer, 1);
    EXPECT_FALSE(plan.sources[1].message);
    EXPECT_EQ(plan.sources[1].memory, Memory::input);
    EXPECT_EQ(plan.sources[2].peer, 2);
}

TEST(Plan, InPlaceSlicesShareTheLargerBuffer) {
    Problem gather{.collective = Collective::all_gather, .ranks = 3, .count = 5, .in_place = true, .node_map = {}};
    const Plan gathered = compiled(gather, {send(0, {in, 1}, 2), local(StepKind::copy, {in, 0}, {out, 10}, 5)}, 0, 2);
    ASSERT_EQ(gathered.operations.size(), 1U) << "the copy of the own block onto itself vanishes";
    EXPECT_EQ(gathered.operations[0].memory, Memory::output);
    EXPECT_EQ(gathered.operations[0].offset, (2 * 5 + 1) * 4U);

    Problem scatter{.collective = Collective::reduce_scatter, .ranks = 3, .count = 5, .in_place = true, .node_map = {}};
    const Plan scattered = compiled(scatter, {send(0, {in, 0}, 5), recv(0, {out, 2}, 3)}, 0, 1);
    EXPECT_EQ(scattered.operations[1].memory, Memory::input);
    EXPECT_EQ(scattered.operations[1].offset, (5 + 2) * 4U);
    EXPECT_EQ(scattered.operations[1].hazard_count, 0U);
}

TEST(Plan, HazardsAppearOnlyInPlaceWhenBuffersAlias) {
    const std::vector<Step> steps = {send(1, {in, 0}, 4), recv(1, {out, 0}, 4), local(StepKind::reduce, {in, 0}, {out, 0}, 4)};
    EXPECT_TRUE(compiled(all_reduce(2, 4), steps).hazards.empty());
    const Plan plan = compiled(all_reduce(2, 4, true), steps);
    EXPECT_EQ(hazards_of(plan, plan.operations[1]), std::vector<std::uint32_t>{0});
}

TEST(Plan, ZeroLengthMessagesStayAndEmptyCopiesVanish) {
    const Plan plan = compiled({.collective = Collective::barrier, .ranks = 2, .node_map = {}},
                               {send(1, {in, 0}, 0), local(StepKind::copy, {in, 0}, {out, 0}, 0), recv(1, {out, 0}, 0)});
    ASSERT_EQ(plan.operations.size(), 2U);
    EXPECT_EQ(plan.operations[0].protocol, Protocol::inline_message);
}

TEST(Plan, ProtocolFollowsTheLengthAlone) {
    const Plan plan = compiled(all_reduce(2, 1000), {send(1, {in, 0}, 512), send(1, {in, 0}, 513), recv(1, {out, 0}, 512), recv(1, {out, 0}, 513)});
    for (const std::size_t index : {0U, 2U})
        EXPECT_EQ(plan.operations[index].protocol, Protocol::inline_message);
    for (const std::size_t index : {1U, 3U})
        EXPECT_EQ(plan.operations[index].protocol, Protocol::staged);
}

TEST(Plan, ChannelsAreGroupedAndKeepTheirOrder) {
    const Plan plan = compiled(all_reduce(2, 8), {send(1, {in, 0}, 1, 1), send(1, {in, 1}, 1, 0), send(1, {in, 2}, 1, 1), send(1, {in, 3}, 1, 0)});
    ASSERT_EQ(plan.channels, 2);
    EXPECT_EQ(plan.channel_begin, (std::array<std::uint32_t, 5>{0, 2, 4, 4, 4}));
    std::vector<std::uint64_t> offsets;
    for (const Operation& operation : plan.operations)
        offsets.push_back(operation.offset / 4);
    EXPECT_EQ(offsets, (std::vector<std::uint64_t>{1, 3, 0, 2}));
}

TEST(Plan, OptionsComeFromTheConfig) {
    const CompileOptions options = compile_options(core::Config::parse("staging_stores=streaming,inline_bytes=48,nontemporal_bytes=2M"), 4096);
    EXPECT_TRUE(options.streaming_stores);
    EXPECT_EQ(options.inline_bytes, 48U);
    EXPECT_EQ(options.nontemporal_bytes, 2U << 20);
    EXPECT_EQ(options.fragment_bytes, 4096U);
}

// Every fold must wait, itself or through an earlier fold, for each earlier send of its channel that reads what it writes, and for nothing else.
void expect_exact_hazards(const Plan& plan, int channel) {
    std::vector<bool> over(plan.operations.size(), false);
    for (std::uint32_t index = plan.channel_begin[channel]; index < plan.channel_begin[channel + 1]; ++index) {
        const Operation& fold = plan.operations[index];
        if (fold.kind == OperationKind::send) continue;
        std::vector<std::uint32_t> expected;
        for (std::uint32_t earlier = plan.channel_begin[channel]; earlier < index; ++earlier) {
            const Operation& read = plan.operations[earlier];
            const bool overlaps = read.memory == fold.memory && read.offset < fold.offset + fold.length && fold.offset < read.offset + read.length;
            if (read.kind != OperationKind::send || over[earlier] || !overlaps || read.length == 0 || fold.length == 0) continue;
            expected.push_back(earlier);
            over[earlier] = true;
        }
        ASSERT_EQ(hazards_of(plan, fold), expected) << "operation " << index;
    }
}

TEST(Plan, HazardsEqualThePairwiseSearchOnRandomSchedules) {
    std::mt19937 random(7);
    for (int round = 0; round < 300; ++round) {
        std::vector<Step> steps;
        const std::uint64_t count = 1 + random() % 60;
        const int wanted = static_cast<int>(random() % 80);
        for (int index = 0; index < wanted; ++index) {
            const std::uint64_t length = random() % (count + 1);
            const Where slice{random() % 3 == 0 ? scratch : out, random() % (count - length + 1)};
            const Rank peer = 1 + static_cast<Rank>(random() % 3);
            Step step = random() % 2 == 0 ? send(peer, slice, length) : recv(peer, slice, length);
            step.channel = static_cast<std::uint8_t>(random() % 2);
            steps.push_back(step);
        }
        const Plan plan = compiled(all_reduce(4, count, random() % 2 == 0), steps, count);
        for (int channel = 0; channel < plan.channels; ++channel)
            expect_exact_hazards(plan, channel);
    }
}

struct Refusal {
    std::string words;
    std::vector<Step> steps;
    bool in_place = false;
};

TEST(Plan, RefusesEveryBreachOfTheStepContract) {
    Step foreign_channel = local(StepKind::reduce, {in, 0}, {out, 0}, 4);
    foreign_channel.channel = 1;
    Step joined_copy = local(StepKind::copy, {in, 0}, {out, 0}, 4);
    joined_copy.joined = true;
    Step joined_send = send(1, {in, 0}, 4);
    joined_send.joined = true;
    joined_send.destination = out;
    Step bad_channel = send(1, {in, 0}, 4, max_channels);
    Step lone_reduce = local(StepKind::reduce, {in, 0}, {out, 0}, 4);
    lone_reduce.joined = false;
    const Step first = recv(1, {out, 0}, 4);
    const std::vector<Refusal> refusals = {
        {"another channel", {first, foreign_channel}},
        {"another channel", {local(StepKind::reduce, {in, 0}, {out, 0}, 4)}},
        {"joins a step that is no fold", {send(1, {in, 0}, 4), local(StepKind::reduce, {in, 0}, {out, 0}, 4)}},
        {"copy inside a fold", {first, joined_copy}},
        {"send that joins", {first, joined_send}},
        {"channel 4", {bad_channel}},
        {"joins nothing", {lone_reduce}},
        {"another slice", {first, local(StepKind::reduce, {in, 0}, {out, 1}, 4)}},
        {"another slice", {first, local(StepKind::reduce, {in, 0}, {out, 0}, 3)}},
        {"buffer of 8", {send(1, {in, 5}, 4)}},
        {"buffer of 8", {send(1, {in, ~std::uint64_t{0}}, 4)}},
        {"buffer of 0", {send(1, {scratch, 0}, 1)}},
        {"peer 0", {send(0, {in, 0}, 4)}},
        {"peer 3", {recv(3, {out, 0}, 4)}},
        {"peer -1", {recv(-1, {out, 0}, 4)}},
        {"second message of peer 1", {first, recv(1, {out, 0}, 4, true)}},
        {"not in place", {recv(1, {in, 0}, 4)}},
        {"overlaps its destination", {local(StepKind::copy, {out, 0}, {out, 2}, 4)}},
        {"overlaps its destination", {local(StepKind::copy, {in, 2}, {out, 0}, 4)}, true},
    };
    for (const Refusal& refusal : refusals) {
        try {
            compiled(all_reduce(3, 8, refusal.in_place), refusal.steps);
            ADD_FAILURE() << "accepted: " << refusal.words;
        } catch (const core::Error& error) {
            EXPECT_NE(std::string(error.what()).find(refusal.words), std::string::npos) << error.what();
        }
    }
}

TEST(Plan, OnlyTheRootOfABroadcastHasAnInput) {
    const Problem problem{.collective = Collective::broadcast, .ranks = 2, .count = 3, .root = 1, .node_map = {}};
    EXPECT_NO_THROW(compiled(problem, {send(0, {in, 0}, 3)}, 0, 1));
    EXPECT_THROW(compiled(problem, {send(1, {in, 0}, 3)}, 0, 0), core::Error);
}

TEST(Plan, ScaleEndsAFoldOfFloats) {
    Step scale = local(StepKind::scale, {in, 0}, {out, 0}, 4);
    Plan plan = compiled(all_reduce(2, 4), {scale});
    ASSERT_EQ(plan.operations.size(), 1U);
    EXPECT_TRUE(plan.operations[0].scale);
    scale.joined = true;
    plan = compiled(all_reduce(2, 4), {recv(1, {out, 0}, 4), scale});
    ASSERT_EQ(plan.operations.size(), 1U);
    EXPECT_TRUE(plan.operations[0].scale);
    EXPECT_THROW(compiled(all_reduce(2, 4), {recv(1, {out, 0}, 4), scale, local(StepKind::reduce, {in, 0}, {out, 0}, 4)}), core::Error);
    Problem integers = all_reduce(2, 4);
    integers.dtype = core::DType::int32;
    EXPECT_THROW(compiled(integers, {recv(1, {out, 0}, 4), scale}), core::Error);
}

// A plan with protocol=cma_put of rank 0; `others` are the schedules of ranks 1 and up.
Plan put_plan(const Problem& problem, std::vector<Step> steps, const std::vector<std::vector<Step>>& others) {
    CompileOptions options;
    options.inline_bytes = 0;
    options.protocol = Protocol::cma_put;
    return compile(problem, {.rank = 0, .steps = std::move(steps)}, options,
                   [&](Rank peer) { return Schedule{.rank = peer, .steps = others[static_cast<std::size_t>(peer) - 1]}; });
}

std::string ways_of(const Plan& plan) {
    std::string text;
    for (const Operation& operation : plan.operations)
        text += std::string(operation.kind == OperationKind::send ? "send " : "fold ") + std::string(name_of(operation.protocol)) + ";";
    return text;
}

TEST(PlanWithPuts, PutsWhatNothingTouchesBeforeAtBothEnds) {
    const Plan plan = put_plan(all_reduce(2, 8), {send(1, {in, 0}, 8), recv(1, {out, 0}, 8)}, {{recv(0, {out, 0}, 8), send(0, {in, 0}, 8)}});
    EXPECT_EQ(ways_of(plan), "send cma_put;fold cma_put;");
    ASSERT_EQ(plan.remotes.size(), 1U);
    EXPECT_EQ(plan.remotes[0].memory, Memory::output);
    EXPECT_EQ(plan.remotes[0].offset, 0U);
    EXPECT_EQ(plan.posts, (std::vector<Post>{{1, 0}}));
    EXPECT_TRUE(plan.direct);
}

TEST(PlanWithPuts, ResolvesThePlaceOfThePeersBuffers) {
    Problem gather = all_reduce(2, 8, true);
    gather.collective = Collective::all_gather;
    const Plan plan = put_plan(gather, {send(1, {in, 2}, 3)}, {{recv(0, {out, 2}, 3)}});
    ASSERT_EQ(plan.remotes.size(), 1U);
    EXPECT_EQ(plan.remotes[0].offset, 2 * sizeof(float));
    const Plan scatter = put_plan(
        [] {
            Problem problem = all_reduce(2, 8, true);
            problem.collective = Collective::reduce_scatter;
            return problem;
        }(),
        {send(1, {in, 0}, 3)}, {{recv(0, {out, 2}, 3)}});
    ASSERT_EQ(scatter.remotes.size(), 1U);
    EXPECT_EQ(scatter.remotes[0].memory, Memory::input);
    EXPECT_EQ(scatter.remotes[0].offset, (8 + 2) * sizeof(float));  // rank 1's block of the one buffer
}

TEST(PlanWithPuts, GetsWhatAnEarlierStepTouches) {
    const Problem problem = all_reduce(3, 8);
    const auto ways = [&](std::vector<Step> receiver) { return ways_of(put_plan(problem, std::move(receiver), {{}, {}})); };
    EXPECT_EQ(ways({local(StepKind::copy, {in, 0}, {out, 0}, 4), recv(1, {out, 0}, 8)}), "fold staged;fold cma_get;");  // written
    EXPECT_EQ(ways({local(StepKind::copy, {in, 0}, {out, 0}, 4), recv(1, {out, 4}, 4)}), "fold staged;fold cma_put;");  // beside it
    EXPECT_EQ(ways({recv(1, {out, 0}, 8), recv(2, {out, 4}, 4)}), "fold cma_put;fold cma_get;");
    EXPECT_EQ(ways({recv(1, {out, 0}, 4), local(StepKind::copy, {out, 0}, {out, 4}, 4), recv(2, {out, 0}, 4)}), "fold cma_put;fold staged;fold cma_get;");
}

TEST(PlanWithPuts, OneSendOfTheSliceToTheSamePeerLeavesItFree) {
    const Problem problem = all_reduce(3, 8, true);
    const std::vector<std::vector<Step>> silent = {{}, {}};
    EXPECT_EQ(ways_of(put_plan(problem, {send(1, {out, 0}, 4), recv(1, {out, 0}, 4)}, silent)), "send cma_get;fold cma_put;");
    EXPECT_EQ(ways_of(put_plan(problem, {send(2, {out, 0}, 4), recv(1, {out, 0}, 4)}, silent)), "send cma_get;fold cma_get;");
    EXPECT_EQ(ways_of(put_plan(problem, {send(1, {out, 0}, 5), recv(1, {out, 0}, 4)}, silent)), "send cma_get;fold cma_get;");
    EXPECT_EQ(ways_of(put_plan(problem, {send(1, {out, 0}, 4), send(2, {out, 0}, 4), recv(1, {out, 0}, 4)}, silent)),
              "send cma_get;send cma_get;fold cma_get;");
}

TEST(PlanWithPuts, FoldsOfMoreThanTheMessageAreGot) {
    const Plan plan = put_plan(all_reduce(2, 20'000), {recv(1, {out, 0}, 20'000), local(StepKind::reduce, {in, 0}, {out, 0}, 20'000)}, {{}});
    EXPECT_EQ(ways_of(plan), "fold cma_get;");
    EXPECT_EQ(plan.bounce_bytes, plan.piece_bytes);
    EXPECT_EQ(plan.piece_bytes % 64, 0U);
    EXPECT_TRUE(plan.posts.empty());
}

TEST(PlanWithPuts, WithoutTheSchedulesOfOthersNothingIsPut) {
    CompileOptions options;
    options.inline_bytes = 0;
    options.protocol = Protocol::cma_put;
    const Plan plan = compile(all_reduce(2, 8), {.rank = 0, .steps = {send(1, {in, 0}, 8), recv(1, {out, 0}, 8)}}, options);
    EXPECT_EQ(ways_of(plan), "send cma_get;fold cma_get;");
    EXPECT_TRUE(plan.remotes.empty());
}

TEST(Plan, MessagesThatGoStraightAreNoMulticasts) {
    CompileOptions options;
    options.inline_bytes = 16;
    for (const auto& [protocol, ways] :
         {std::pair{Protocol::cma_get, "send cma_get;send cma_get;send inline;"}, {Protocol::mixed, "send mixed;send mixed;send inline;"}}) {
        options.protocol = protocol;
        const std::vector<Step> steps = {send(1, {in, 0}, 8), send(2, {in, 0}, 8), send(1, {in, 0}, 4), send(2, {in, 0}, 4)};
        const Plan plan = compile(all_reduce(3, 8), {.rank = 0, .steps = steps}, options);
        EXPECT_EQ(ways_of(plan), ways);
        EXPECT_EQ(plan.operations.back().peer_count, 2U);
    }
}

}  // namespace
}  // namespace attune::collectives
