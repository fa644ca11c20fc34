// Groups of calls, waiting for any and for all, persistent handles that allocate nothing, a plan cache that stays bounded.
#include "collectives/call_group.hpp"

#include "collectives/amounts.hpp"
#include "collectives/sample_amounts.hpp"
#include "libcore/error.hpp"
#include "libcore/trace.hpp"
#include "tests/support/allocation_count.hpp"
#include "tests/support/communicator_cases.hpp"
#include "tests/support/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace attune::collectives {
namespace {

using test::on_threads;

Problem sum_of(std::uint64_t count) {
    Problem problem;
    problem.count = count;
    problem.dtype = core::DType::int64;
    return problem;
}

void on_team(int ranks, const std::function<void(Communicator&)>& body) {
    auto team = Communicator::make_local(ranks, CommunicatorOptions());
    const auto thrown = on_threads(ranks, [&](int rank) { body(*team[static_cast<std::size_t>(rank)]); });
    EXPECT_EQ(thrown, std::vector<std::string>(static_cast<std::size_t>(ranks)));
}

// Ranks add the calls of the two communicators in opposite orders, and twice as many as there are slots.
TEST(CallGroupTest, RunsMoreCallsThanSlotsAcrossCommunicatorsInAnyOrder) {
    on_team(3, [](Communicator& team) {
        const auto copy = team.dup();
        constexpr std::size_t calls = 2 * in_flight_slots;
        const std::vector<std::int64_t> input(5000, team.rank() + 1);
        std::array<std::vector<std::int64_t>, 2 * calls> outputs;
        outputs.fill(std::vector<std::int64_t>(5000));
        CallGroup group;
        for (std::size_t turn = 0; turn < 2; ++turn) {
            Communicator& of_turn = (turn == 0) == (team.rank() == 0) ? team : *copy;
            for (std::size_t call = 0; call < calls; ++call)
                group.add(of_turn, sum_of(5000 - call), input.data(), outputs[turn * calls + call].data());
        }
        EXPECT_EQ(group.size(), 2 * calls);
        group.wait();
        EXPECT_EQ(group.size(), 0U);
        for (std::size_t call = 0; call < outputs.size(); ++call)
            EXPECT_EQ(std::ranges::count(outputs[call], 6), static_cast<std::ptrdiff_t>(5000 - call % calls));
    });
}

TEST(CallGroupTest, AnEmptyGroupIsOverAtOnce) {
    CallGroup group;
    group.start();
    group.wait();
    EXPECT_THROW(wait_any({}), core::Error);
}

// Rank 0 gives its part of the first call only when the second one is over.
TEST(CallGroupTest, WaitAnyReturnsTheFirstThatIsDone) {
    on_team(2, [](Communicator& team) {
        const auto copy = team.dup();
        const std::vector<std::int64_t> input(3, 1);
        std::vector<std::int64_t> late(3), early(3);
        if (team.rank() == 0) {
            copy->run(sum_of(3), input.data(), early.data());
            std::int64_t token = 0, answer = 0;
            copy->run(sum_of(1), &token, &answer);  // rank 1 saw that the early call was done
            team.run(sum_of(3), input.data(), late.data());
        } else {
            const std::array<StartedCall, 2> calls = {StartedCall{&team, team.start(sum_of(3), input.data(), late.data())},
                                                      StartedCall{copy.get(), copy->start(sum_of(3), input.data(), early.data())}};
            EXPECT_EQ(wait_any(calls), 1U);
            EXPECT_EQ(early, std::vector<std::int64_t>(3, 2));
            std::int64_t token = 0, answer = 0;
            copy->run(sum_of(1), &token, &answer);
            wait_all(calls);
        }
        EXPECT_EQ(late, std::vector<std::int64_t>(3, 2));
    });
}

TEST(CallGroupTest, NothingToWaitForIsDone) {
    on_team(1, [](Communicator& team) {
        const std::array<StartedCall, 1> calls = {StartedCall{&team, {}}};
        EXPECT_EQ(wait_any(calls), 0U);
        wait_all(calls);
    });
}

TEST(PreparedCallTest, StartingAgainAllocatesNothing) {
    on_team(3, [](Communicator& team) {
        const auto copy = team.dup();
        const std::vector<std::int64_t> input(20'000, 1);
        std::vector<std::int64_t> small(5), large(20'000);
        const PreparedCall of_team = team.prepare(sum_of(5)), of_copy = copy->prepare(sum_of(20'000));
        const auto once = [&] {
            const std::array<StartedCall, 2> calls = {StartedCall{&team, team.start(of_team, input.data(), small.data())},
                                                      StartedCall{copy.get(), copy->start(of_copy, input.data(), large.data())}};
            wait_any(calls);
            wait_all(calls);
        };
        for (int i = 0; i < 10; ++i)
            once();
        const std::uint64_t before = test::allocations();
        for (int i = 0; i < 200; ++i)
            once();
        EXPECT_EQ(test::allocations() - before, 0U);
        EXPECT_EQ(large, std::vector<std::int64_t>(20'000, 3));
        EXPECT_EQ(team.statistics().none, 210U);
    });
}

// Rank 0 sends `there` elements to rank 1, which sends `back`; nobody sends to itself.
Problem exchange_of(int rank, std::uint64_t there, std::uint64_t back) {
    Problem problem;
    problem.collective = Collective::all_to_all_v;
    problem.dtype = core::DType::int64;
    const auto amounts = std::make_shared<Amounts>();
    amounts->send = rank == 0 ? std::vector<std::uint64_t>{0, there} : std::vector<std::uint64_t>{back, 0};
    amounts->receive = rank == 0 ? std::vector<std::uint64_t>{0, back} : std::vector<std::uint64_t>{there, 0};
    problem.amounts = amounts;
    return problem;
}

std::uint64_t allocated_by_repeating(Communicator& team, const Problem& problem) {
    std::vector<std::int64_t> input(10'000, 1), output(10'000);
    for (int turn = 0; turn < 8; ++turn)
        team.run(problem, input.data(), output.data());
    const std::uint64_t before = test::allocations();
    for (int turn = 0; turn < 20; ++turn)
        team.run(problem, input.data(), output.data());
    return test::allocations() - before;
}

TEST(RepeatedCallTest, OfEveryCollectiveAllocatesNothingTracedOrNot) {
    const tests::TemporaryDirectory folder;
    const auto sink = core::open_trace_in_folder(folder.file("trace"), 0, 1);
    for (core::TraceSink* trace : {static_cast<core::TraceSink*>(nullptr), sink.get()}) {
        CommunicatorOptions options;
        options.trace = trace;
        auto team = Communicator::make_local(3, options);
        const auto thrown = on_threads(3, [&](int rank) {
            for (const Collective collective : all_collectives()) {
                Problem problem;
                problem.collective = collective;
                problem.ranks = 3;
                problem.dtype = core::DType::int64;
                const Problem own = view_of(with_sample_amounts(problem, AmountsShape::uneven, collective == Collective::barrier ? 0 : 40), rank);
                EXPECT_EQ(allocated_by_repeating(*team[static_cast<std::size_t>(rank)], own), 0U) << name_of(collective);
            }
        });
        EXPECT_EQ(thrown, std::vector<std::string>(3));
    }
}

// The same amounts in the same object and in another of equal contents.
TEST(RepeatedCallTest, WithAmountsAllocatesNothing) {
    on_team(2, [](Communicator& team) {
        const Problem first = exchange_of(team.rank(), 30, 7), equal = exchange_of(team.rank(), 30, 7), other = exchange_of(team.rank(), 3, 70);
        const std::vector<std::int64_t> input(100, team.rank() + 1);
        std::vector<std::int64_t> output(100);
        const auto once = [&] {
            team.run(first, input.data(), output.data());
            team.run(other, input.data(), output.data());
            team.run(equal, input.data(), output.data());
        };
        for (int i = 0; i < 10; ++i)
            once();
        const std::uint64_t before = test::allocations();
        for (int i = 0; i < 100; ++i)
            once();
        EXPECT_EQ(test::allocations() - before, 0U);
        EXPECT_EQ(output.front(), 2 - team.rank());
        EXPECT_EQ(team.statistics().calls, 330U);
    });
}

// Counts that every rank must know alike are part of what is compared.
TEST(RepeatedCallTest, DifferentAmountsOfOneVectorAreNamed) {
    auto team = Communicator::make_local(2, CommunicatorOptions());
    const auto thrown = on_threads(2, [&](int rank) {
        Problem problem;
        problem.collective = Collective::all_gather_v;
        problem.dtype = core::DType::int64;
        const auto amounts = std::make_shared<Amounts>();
        amounts->receive = rank == 0 ? std::vector<std::uint64_t>{5, 6} : std::vector<std::uint64_t>{6, 5};
        problem.amounts = amounts;
        const std::vector<std::int64_t> input(6, 1);
        std::vector<std::int64_t> output(11);
        team[static_cast<std::size_t>(rank)]->run(problem, input.data(), output.data());
    });
    for (const std::string& error : thrown)
        EXPECT_NE(error.find("ranks disagree"), std::string::npos) << error;
}

TEST(PreparedCallTest, OutlivesItsPlaceInTheCacheAndANewTable) {
    on_team(2, [](Communicator& team) {
        const PreparedCall call = team.prepare(sum_of(7));
        std::int64_t one = 1, sum = 0;
        for (std::uint64_t i = 0; i < 50; ++i) {
            const std::vector<std::int64_t> input(i + 1, 1);
            std::vector<std::int64_t> output(i + 1);
            team.run(sum_of(i + 1), input.data(), output.data());
        }
        team.forget_table();
        team.run(sum_of(1), &one, &sum);
        EXPECT_EQ(sum, 2);
        const std::vector<std::int64_t> input(7, 4);
        std::vector<std::int64_t> output(7);
        team.run(call, input.data(), output.data());
        EXPECT_EQ(output, std::vector<std::int64_t>(7, 8));
    });
}

}  // namespace
}  // namespace attune::collectives
