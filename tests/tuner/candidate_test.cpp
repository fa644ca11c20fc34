// Checking and sampling one candidate with calls that the test plants: right ones, and each kind of wrong one.
#include "tuner/engine/rank_engine.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>

namespace attune::tuner::engine {
namespace {

constexpr std::int64_t patient_ns = 60'000'000'000;

collectives::Problem alone(collectives::Collective collective, std::uint64_t count, bool in_place = false) {
    collectives::Problem problem;
    problem.collective = collective;
    problem.ranks = 1;
    problem.count = count;
    problem.in_place = in_place;
    return problem;
}

// With one rank every collective copies its input, but exscan, which has nothing to give to rank 0.
void copy_call(const collectives::Problem& problem, const void* input, void* output) {
    if (problem.collective == collectives::Collective::exscan) return;
    if (input != output && problem.bytes() != 0) std::memcpy(output, input, problem.bytes());
}

Reply checked(const collectives::Problem& problem, const std::function<void(const void*, void*)>& run) {
    SharedArea area = SharedArea::create(1);
    Meeting meeting(area, 0, true, patient_ns);
    BufferRing buffers(problem, 0, 1 << 16);
    Reply reply;
    check({problem, buffers, run}, meeting, reply);
    return reply;
}

TEST(Checker, ARightCallIsRightInEveryForm) {
    for (const collectives::Collective collective : collectives::all_collectives()) {
        if (collectives::has_amounts(collective)) continue;
        for (const bool in_place : {false, true}) {
            const std::uint64_t count = collective == collectives::Collective::barrier ? 0 : 1009;
            const collectives::Problem problem = alone(collective, count, in_place);
            const Reply reply = checked(problem, [&](const void* input, void* output) { copy_call(problem, input, output); });
            EXPECT_EQ(reply.outcome, CheckOutcome::ok) << name_of(collective) << ": " << reply.text;
        }
    }
}

TEST(Checker, OneWrongElementIsCountedInEveryRoundAndNamed) {
    const collectives::Problem problem = alone(collectives::Collective::all_reduce, 100);
    const Reply reply = checked(problem, [&](const void* input, void* output) {
        copy_call(problem, input, output);
        static_cast<float*>(output)[42] += 1;
    });
    EXPECT_EQ(reply.outcome, CheckOutcome::wrong);
    EXPECT_EQ(reply.wrong, 5u);
    EXPECT_NE(std::string(reply.text).find("rank 0: output element 42 is "), std::string::npos) << reply.text;
}

TEST(Checker, ACallThatWritesWhereNothingBelongsIsSeen) {
    const collectives::Problem problem = alone(collectives::Collective::exscan, 100);
    const Reply reply = checked(problem, [&](const void*, void* output) { static_cast<float*>(output)[99] = 1; });
    EXPECT_EQ(reply.wrong, 5u);
    EXPECT_NE(std::string(reply.text).find("element 99 was written"), std::string::npos) << reply.text;
}

TEST(Checker, ACallThatDoesNothingIsWrongEverywhere) {
    const collectives::Problem problem = alone(collectives::Collective::all_reduce, 100);
    EXPECT_EQ(checked(problem, [](const void*, void*) {}).wrong, 500u);
}

TEST(Checker, AResultLeftFromAnEarlierCallIsSeen) {
    const collectives::Problem problem = alone(collectives::Collective::all_gather, 64);
    std::vector<std::byte> slot;
    const Reply reply = checked(problem, [&](const void* input, void* output) {
        if (slot.empty()) slot.assign(static_cast<const std::byte*>(input), static_cast<const std::byte*>(input) + problem.bytes());
        std::memcpy(output, slot.data(), slot.size());
    });
    EXPECT_EQ(reply.outcome, CheckOutcome::wrong);
    EXPECT_EQ(reply.wrong, 4 * 64u);
}

TEST(Checker, ABrokenGuardIsSeen) {
    const collectives::Problem problem = alone(collectives::Collective::broadcast, 16);
    const Reply reply = checked(problem, [&](const void* input, void* output) {
        copy_call(problem, input, output);
        static_cast<volatile char*>(output)[problem.bytes()] = 0;
    });
    EXPECT_EQ(reply.outcome, CheckOutcome::wrong);
    EXPECT_NE(std::string(reply.text).find("outside its output buffer"), std::string::npos) << reply.text;
}

TEST(Checker, AChangedInputIsSeen) {
    const collectives::Problem problem = alone(collectives::Collective::all_reduce, 16);
    const Reply reply = checked(problem, [&](const void* input, void* output) {
        copy_call(problem, input, output);
        static_cast<float*>(const_cast<void*>(input))[3] = 0.5F;
    });
    EXPECT_EQ(reply.outcome, CheckOutcome::wrong);
    EXPECT_NE(std::string(reply.text).find("changed its input"), std::string::npos) << reply.text;
}

TEST(Checker, CountZeroNeedsNoElements) {
    EXPECT_EQ(checked(alone(collectives::Collective::all_reduce, 0), [](const void*, void*) {}).outcome, CheckOutcome::ok);
}

Reply sampled(Command command, std::uint64_t& calls, CacheMode cache = CacheMode::hot) {
    const collectives::Problem problem = alone(collectives::Collective::all_reduce, 16);
    SharedArea area = SharedArea::create(1);
    Meeting meeting(area, 0, true, patient_ns);
    BufferRing buffers(problem, 0, 1 << 16);
    command.cache = cache;
    Reply reply;
    sample({problem, buffers, [&](const void*, void*) { ++calls; }}, meeting, command, reply);
    for (std::uint64_t row = 0; row < reply.rows; ++row)
        EXPECT_GE(area.ends(0)[row], area.starts(0)[row]);
    return reply;
}

TEST(Sampler, AGivenBatchRunsThatManyCallsInEachIteration) {
    std::uint64_t calls = 0;
    const Reply reply = sampled({.kind = CommandKind::sample, .iterations = 20, .warm_up = 3, .batch = 7}, calls);
    EXPECT_EQ(calls, 3 + 20 * 7u);
    EXPECT_EQ(reply.rows, 20u);
    EXPECT_EQ(reply.calls, 7u);
    EXPECT_EQ(reply.batch, 7u);
}

TEST(Sampler, AShortCallIsBatched) {
    std::uint64_t calls = 0;
    const Reply reply = sampled({.kind = CommandKind::sample, .iterations = 2}, calls);
    EXPECT_GT(reply.batch, 1u);
    EXPECT_GE(calls, 2 * reply.batch);
}

TEST(Sampler, StreamingIsOneRowOfAllCalls) {
    std::uint64_t calls = 0;
    const Reply reply = sampled({.kind = CommandKind::sample, .iterations = 20, .batch = 2, .start = StartMode::streaming}, calls);
    EXPECT_EQ(reply.rows, 1u);
    EXPECT_EQ(reply.calls, 40u);
    EXPECT_EQ(calls, 40u);
}

TEST(Sampler, RotationGivesEachCallOtherBuffers) {
    const collectives::Problem problem = alone(collectives::Collective::all_reduce, 16);
    SharedArea area = SharedArea::create(1);
    Meeting meeting(area, 0, true, patient_ns);
    BufferRing buffers(problem, 0, 1 << 16);
    const void* last = nullptr;
    Command command{.kind = CommandKind::sample, .iterations = 10, .batch = 3};
    command.cache = CacheMode::rotate;
    Reply reply;
    const auto run = [&](const void* input, void*) {
        EXPECT_NE(input, last);
        last = input;
    };
    sample({problem, buffers, run}, meeting, command, reply);
}

}  // namespace
}  // namespace attune::tuner::engine
