// The executor over threads: every algorithm bit-equal to the reference walk, in flight together, disturbed, in tiny windows.
#include "collectives/executor.hpp"

#include "libcore/error.hpp"
#include "tests/support/allocation_count.hpp"
#include "tests/support/executor_cases.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>

namespace attune::collectives {
namespace {

using test::CaseRange;
using test::RunOptions;

constexpr std::uint64_t tiny_staging = 1;  // every lane gets one fragment of 4 KiB

TransportOptions lanes(std::uint64_t staging_bytes, bool oversubscribed = true) {
    TransportOptions options;
    options.staging_bytes = staging_bytes;
    options.oversubscribed = oversubscribed;
    return options;
}

CompileOptions fragments(std::uint64_t bytes) {
    CompileOptions options;
    options.fragment_bytes = bytes;
    return options;
}

std::vector<std::uint64_t> edge_counts(int ranks) {
    const auto p = static_cast<std::uint64_t>(ranks);
    return {0, 1, p - 1, p + 1, 13, 1009};
}

class ExecutorRanks : public testing::TestWithParam<int> {};

TEST_P(ExecutorRanks, EqualTheReferenceWalkForEveryAlgorithm) {
    const auto cases = test::make_cases({GetParam(), edge_counts(GetParam()), {{0, 1}, {5, 2}}});
    EXPECT_EQ(test::run_cases_on_threads(cases, lanes(64 << 20), {.compile = fragments(65536)}), "");
}

TEST_P(ExecutorRanks, EqualTheReferenceWalkWhenOneFragmentRecycles) {
    const auto cases = test::make_cases({GetParam(), {5003}, {{0, 1}, {2100, 2}}});
    EXPECT_EQ(test::run_cases_on_threads(cases, lanes(tiny_staging), {.compile = fragments(4096)}), "");
}

TEST_P(ExecutorRanks, EqualTheReferenceWalkWithFourCallsInFlight) {
    const auto cases = test::make_cases({GetParam(), {0, 7, 1501}, {{0, 1}}});
    CompileOptions header_only = fragments(4096);
    header_only.inline_bytes = 48;
    header_only.streaming_stores = true;
    header_only.nontemporal_bytes = 1000;
    EXPECT_EQ(test::run_cases_on_threads(cases, lanes(tiny_staging), {.compile = header_only, .in_flight = 4}), "");
}

TEST_P(ExecutorRanks, EqualTheReferenceWalkUnderRandomDelays) {
    const auto cases = test::make_cases({GetParam(), {3, 2503}, {{0, 1}, {300, 2}}});
    RunOptions options{.compile = fragments(4096), .in_flight = 3};
    options.compile.inline_bytes = 0;
    options.between = [] {
        thread_local std::mt19937 random(std::random_device{}());
        for (std::uint32_t pause = random() % 20; pause > 0; --pause)
            std::this_thread::yield();
        random.discard(random() % 3000);
    };
    EXPECT_EQ(test::run_cases_on_threads(cases, lanes(tiny_staging), options), "");
}

INSTANTIATE_TEST_SUITE_P(Ranks, ExecutorRanks, testing::Range(1, 10), testing::PrintToStringParamName());

using Body = std::function<void(Transport&)>;
void on_threads(int ranks, const TransportOptions& options, const Body& body) {
    const auto team = make_local_transports(ranks, options);
    std::vector<std::thread> threads;
    for (const auto& transport : team)
        threads.emplace_back([&body, &transport] { body(*transport); });
    for (std::thread& thread : threads)
        thread.join();
}

std::shared_ptr<const Plan> plan_of(const Problem& problem, std::string_view algorithm, Rank rank, std::uint64_t fragment_bytes) {
    const Schedule schedule = generate(problem, *find_algorithm(problem.collective, algorithm), {}, rank);
    return std::make_shared<const Plan>(compile(problem, schedule, fragments(fragment_bytes)));
}

Problem float_problem(Collective collective, int ranks, std::uint64_t count) {
    Problem problem;
    problem.collective = collective;
    problem.ranks = ranks;
    problem.count = count;
    return problem;
}

TEST(Executor, ARepeatedPlanAllocatesNothing) {
    on_threads(3, lanes(tiny_staging), [](Transport& transport) {
        Executor executor(transport, {});
        const auto large = plan_of(float_problem(Collective::all_reduce, 3, 9001), "two_shot", transport.rank(), 4096);
        const auto small = plan_of(float_problem(Collective::all_reduce, 3, 2), "recursive_doubling", transport.rank(), 4096);
        std::vector<float> input(9001, 1.0F), output(9001);
        const auto run = [&](const std::shared_ptr<const Plan>& plan) {
            executor.wait(executor.start(plan, input.data(), output.data(), 1, "all_reduce of some length"));
        };
        for (int call = 0; call < 2 * in_flight_slots; ++call)
            run(call % 2 == 0 ? large : small);
        for (int call = 0; call < in_flight_slots; ++call)
            run(large);
        const std::uint64_t before = test::allocations();
        for (int call = 0; call < 200; ++call)
            run(call % 3 == 0 ? large : small);
        EXPECT_EQ(test::allocations(), before);
    });
}

TEST(Executor, CountsAllocationsAtAll) {
    const std::uint64_t before = test::allocations();
    const auto kept = std::make_unique<std::array<char, 100>>();
    EXPECT_NE(kept, nullptr);
    EXPECT_EQ(test::allocations(), before + 1);
}

Step step_of(StepKind kind, Rank peer, BufferId from, std::uint64_t length) {
    Step step;
    step.kind = kind;
    step.peer = peer;
    step.source = from;
    step.destination = BufferId::output;
    step.length = length;
    return step;
}

// The root multicasts to 1 and 2 through a window that is smaller than the message, while 1 reads the root only after it heard all of it from 2:
// the fragment of the multicast is never freed by 1, so 2 must get the rest by itself.
TEST(Executor, AMulticastDoesNotWaitForAPeerThatWaitsForAnother) {
    constexpr std::uint64_t count = 20'000;
    const Problem problem = float_problem(Collective::all_gather, 3, count);
    std::array<std::vector<Step>, 3> steps;
    steps[0] = {step_of(StepKind::send, 1, BufferId::input, count), step_of(StepKind::send, 2, BufferId::input, count)};
    steps[1] = {step_of(StepKind::recv, 2, BufferId::input, count), step_of(StepKind::recv, 0, BufferId::input, count)};
    steps[1][1].destination_offset = count;
    steps[2] = {step_of(StepKind::recv, 0, BufferId::input, count), step_of(StepKind::send, 1, BufferId::output, count)};
    on_threads(3, lanes(tiny_staging), [&](Transport& transport) {
        const auto rank = static_cast<std::size_t>(transport.rank());
        Schedule schedule;
        schedule.rank = transport.rank();
        schedule.steps = steps[rank];
        Executor executor(transport, {});
        std::vector<float> input(count), output(3 * count);
        for (std::uint64_t element = 0; element < count; ++element)
            input[element] = static_cast<float>(element + rank);
        const auto plan = std::make_shared<const Plan>(compile(problem, schedule, fragments(4096)));
        executor.wait(executor.start(plan, input.data(), output.data(), 1, "relay"));
        for (std::uint64_t element = 0; element < count && rank != 0; ++element) {
            ASSERT_EQ(output[element], static_cast<float>(element)) << rank;
            if (rank == 1) {
                ASSERT_EQ(output[count + element], static_cast<float>(element));
            }
        }
    });
}

TEST(Executor, FinishesCallsInAnyOrderAndKeepsTicketsAskable) {
    on_threads(2, lanes(64 << 20), [](Transport& transport) {
        Executor executor(transport, {});
        const auto barrier = plan_of(float_problem(Collective::barrier, 2, 0), "dissemination", transport.rank(), 4096);
        EXPECT_TRUE(executor.done({}));
        std::array<Ticket, 4> tickets;
        for (Ticket& ticket : tickets)
            ticket = executor.start(barrier, nullptr, nullptr, 1, "barrier");
        while (!executor.done(tickets[3]))
            std::this_thread::yield();
        executor.wait(tickets[1]);
        const Ticket fifth = executor.start(barrier, nullptr, nullptr, 1, "barrier");
        EXPECT_EQ(fifth.call, 5U);
        executor.wait_all();
        for (const Ticket& ticket : tickets)
            EXPECT_TRUE(executor.done(ticket));
        EXPECT_EQ(transport.completed(transport.rank()), 5U);
    });
}

TEST(Executor, RefusesPlansThatDoNotFitTheTeamAndStaysFailed) {
    on_threads(2, lanes(tiny_staging), [](Transport& transport) {
        const auto failure = [&](const std::shared_ptr<const Plan>& plan) {
            Executor executor(transport, {});
            std::string first, second;
            try {
                executor.start(plan, nullptr, nullptr, 1, "misfit");
            } catch (const core::Error& error) {
                first = error.what();
            }
            try {
                executor.wait_all();
            } catch (const core::Error& error) {
                second = error.what();
            }
            EXPECT_EQ(first, second);
            return first;
        };
        const Problem pair = float_problem(Collective::barrier, 2, 0);
        EXPECT_NE(failure(plan_of(pair, "dissemination", 1 - transport.rank(), 4096)).find("it is for rank"), std::string::npos);
        EXPECT_NE(failure(plan_of(pair, "dissemination", transport.rank(), 8192)).find("fragments have 8192 bytes"), std::string::npos);
        EXPECT_NE(failure(plan_of(float_problem(Collective::barrier, 3, 0), "dissemination", transport.rank(), 4096)).find("of 3"), std::string::npos);
        Plan wide = *plan_of(pair, "dissemination", transport.rank(), 4096);
        wide.channels = max_channels + 1;
        EXPECT_NE(failure(std::make_shared<const Plan>(wide)).find("uses 5 channels of 4"), std::string::npos);
        Plan chatty = *plan_of(pair, "dissemination", transport.rank(), 4096);
        chatty.options.inline_bytes = 4096;
        EXPECT_NE(failure(std::make_shared<const Plan>(chatty)).find("4096 bytes inline"), std::string::npos);
    });
}

// Rank 1 starts only after rank 0's hook ran: without the hook this never ends.
TEST(Executor, RunsTheProgressHookWhileItWaits) {
    std::atomic<int> turns = 0;
    on_threads(2, lanes(64 << 20), [&turns](Transport& transport) {
        ExecutorOptions options;
        if (transport.rank() == 0) options.progress_hook = [&turns] { ++turns; };
        Executor executor(transport, options);
        const auto barrier = plan_of(float_problem(Collective::barrier, 2, 0), "dissemination", transport.rank(), 4096);
        while (transport.rank() == 1 && turns == 0)
            std::this_thread::yield();
        executor.wait(executor.start(barrier, nullptr, nullptr, 1, "barrier"));
    });
    EXPECT_GT(turns, 0);
}

TEST(Executor, AveragesWithOneScaleAtTheEnd) {
    on_threads(2, lanes(64 << 20), [](Transport& transport) {
        const Problem problem = float_problem(Collective::all_reduce, 2, 3);
        Schedule schedule = generate(problem, *find_algorithm(Collective::all_reduce, "one_shot"), {}, transport.rank());
        Step scale = step_of(StepKind::scale, -1, BufferId::input, 3);
        scale.joined = true;
        schedule.steps.push_back(scale);
        const std::vector<float> input = {1.0F + static_cast<float>(transport.rank()), 2.0F, 3.0F};
        std::vector<float> output(3);
        Executor executor(transport, {});
        executor.wait(executor.start(std::make_shared<const Plan>(compile(problem, schedule, fragments(4096))), input.data(), output.data(), 1, "average"));
        EXPECT_EQ(output, (std::vector<float>{1.5F, 2.0F, 3.0F}));
    });
}

}  // namespace
}  // namespace attune::collectives
