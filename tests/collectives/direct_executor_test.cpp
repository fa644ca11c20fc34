// Messages that pass no staging: the same bits as the reference walk over threads and processes with each protocol, no allocation, and what happens when a
// peer dies, is alive but out of reach, or when the system forbids such copies.
#include "collectives/communicator.hpp"
#include "collectives/execution/sharing.hpp"
#include "collectives/executor.hpp"
#include "collectives/transport/process_memory.hpp"
#include "libcore/clock.hpp"
#include "libcore/error.hpp"
#include "tests/support/allocation_count.hpp"
#include "tests/support/executor_cases.hpp"
#include "tests/support/process_team.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <thread>
#include <tuple>

#include <sys/mman.h>

namespace attune::collectives {
namespace {

using test::run_processes;

constexpr std::array direct_protocols = {Protocol::cma_get, Protocol::cma_put, Protocol::mixed};

TransportOptions lanes() {
    TransportOptions options;
    options.oversubscribed = true;
    return options;
}

CompileOptions direct(Protocol protocol, std::uint64_t inline_bytes) {
    CompileOptions options;
    options.protocol = protocol;
    options.inline_bytes = inline_bytes;
    return options;
}

std::vector<std::uint64_t> edge_counts(int ranks) {
    const auto p = static_cast<std::uint64_t>(ranks);
    return {0, 1, p - 1, p + 1, 1009, 20'011};
}

class DirectRanks : public testing::TestWithParam<std::tuple<int, Protocol>> {
protected:
    int ranks() const { return std::get<0>(GetParam()); }
    Protocol protocol() const { return std::get<1>(GetParam()); }
    std::string over_processes(const std::vector<test::ExecutorCase>& cases, const test::RunOptions& options) const {
        std::string all;
        for (const test::RankResult& result : run_processes(ranks(), [&](Bootstrap& bootstrap) {
                 const auto transport = make_shm_transport(bootstrap, lanes());
                 return test::run_cases(*transport, cases, options);
             }))
            all += result.text + (result.status == 0 ? "" : " (status " + std::to_string(result.status) + ")");
        return all;
    }
};

TEST_P(DirectRanks, EqualTheReferenceWalkOverThreads) {
    const auto cases = test::make_cases({ranks(), edge_counts(ranks()), {{0, 1}, {300, 2}}});
    EXPECT_EQ(test::run_cases_on_threads(cases, lanes(), {.compile = direct(protocol(), 0), .in_flight = 3}), "");
}

TEST_P(DirectRanks, EqualTheReferenceWalkOverProcesses) {
    const auto cases = test::make_cases({ranks(), edge_counts(ranks()), {{0, 1}, {300, 2}}});
    EXPECT_EQ(over_processes(cases, {.compile = direct(protocol(), 48), .in_flight = 2}), "");
}

class DirectLongMessages : public DirectRanks {};

TEST_P(DirectLongMessages, EqualTheReferenceWalk) {
    const auto cases = test::make_cases({ranks(), {500'009}, {{0, 1}}});
    EXPECT_EQ(over_processes(cases, {.compile = direct(protocol(), 2048), .in_flight = 2}), "");
}

std::string name_of_case(const testing::TestParamInfo<std::tuple<int, Protocol>>& instance) {
    return std::to_string(std::get<0>(instance.param)) + "_" + std::string(name_of(std::get<1>(instance.param)));
}
INSTANTIATE_TEST_SUITE_P(Ranks, DirectRanks, testing::Combine(testing::Range(1, 10), testing::ValuesIn(direct_protocols)), name_of_case);
INSTANTIATE_TEST_SUITE_P(Ranks, DirectLongMessages, testing::Combine(testing::Range(2, 4), testing::ValuesIn(direct_protocols)), name_of_case);

Problem float_problem(Collective collective, int ranks, std::uint64_t count) {
    Problem problem;
    problem.collective = collective;
    problem.ranks = ranks;
    problem.count = count;
    return problem;
}

std::shared_ptr<const Plan> plan_of(const Problem& problem, std::string_view algorithm, Rank rank, Protocol protocol) {
    const auto schedule_of = [&](Rank peer) { return generate(problem, *find_algorithm(problem.collective, algorithm), {}, peer); };
    return std::make_shared<const Plan>(compile(problem, schedule_of(rank), direct(protocol, 48), schedule_of));
}

TEST(DirectExecutor, ARepeatedPlanAllocatesNothing) {
    const auto team = make_local_transports(3, lanes());
    std::vector<std::thread> threads;
    for (const auto& transport : team) {
        threads.emplace_back([&transport] {
            Executor executor(*transport, {});
            std::vector<float> input(60'000, 1.0F), output(60'000);
            std::array<std::shared_ptr<const Plan>, 3> plans;
            for (std::size_t i = 0; i < plans.size(); ++i)
                plans[i] = plan_of(float_problem(Collective::all_reduce, 3, 60'000), "two_shot", transport->rank(), direct_protocols[i]);
            const auto run = [&](int call) { executor.wait(executor.start(plans[static_cast<std::size_t>(call) % 3], input.data(), output.data(), 1, "sum")); };
            for (int call = 0; call < 3 * in_flight_slots; ++call)
                run(call);
            const std::uint64_t before = test::allocations();
            for (int call = 0; call < 100; ++call)
                run(call);
            EXPECT_EQ(test::allocations(), before);
            EXPECT_EQ(output.back(), 3.0F);
        });
    }
    for (std::thread& thread : threads)
        thread.join();
}

// The result of a broadcast from 0 to 1, of which the receiver (or the sender) never takes part but dies.
std::string survivor_of(Protocol protocol, Rank dying) {
    const auto results = run_processes(2, [&](Bootstrap& bootstrap) {
        const auto transport = make_shm_transport(bootstrap, lanes());
        Executor executor(*transport, {});
        const Problem problem = float_problem(Collective::broadcast, 2, 1 << 20);
        const auto plan = plan_of(problem, "linear", bootstrap.rank(), protocol);
        std::vector<float> input(1 << 20, 2.0F), output(1 << 20);
        executor.wait(executor.start(plan, input.data(), output.data(), 7, "broadcast"));
        if (bootstrap.rank() == dying) {
            // In the middle: the sender's descriptor or the receiver's buffers are out, and nothing else.
            executor.start(plan, input.data(), output.data(), 7, "broadcast");
            raise(SIGKILL);
        }
        while (transport->dead_ranks().empty())
            sched_yield();
        const std::int64_t begin = core::now_ns();
        try {
            executor.wait(executor.start(plan, input.data(), output.data(), 7, "broadcast"));
        } catch (const core::Error& error) {
            return std::string(error.what()) + (core::now_ns() - begin < 1'000'000'000 ? "" : " TOO LATE");
        }
        return std::string("passed");
    });
    return results[static_cast<std::size_t>(1 - dying)].text;
}

TEST(DirectFailures, ARankThatDiesInACallIsNamed) {
    for (const Protocol protocol : direct_protocols) {
        for (const Rank dying : {0, 1}) {
            const std::string text = survivor_of(protocol, dying);
            EXPECT_NE(text.find("rank " + std::to_string(dying) + " (process "), std::string::npos) << name_of(protocol) << ": " << text;
            EXPECT_NE(text.find("is gone: rank " + std::to_string(1 - dying)), std::string::npos) << text;
            EXPECT_EQ(text.find("TOO LATE"), std::string::npos) << text;
        }
    }
}

TEST(DirectFailures, ALivingRankWhoseBufferCannotBeReadIsAnErrorWithTheReason) {
    const auto results = run_processes(2, [](Bootstrap& bootstrap) {
        const auto transport = make_shm_transport(bootstrap, lanes());
        Executor executor(*transport, {});
        const Problem problem = float_problem(Collective::broadcast, 2, 1 << 16);
        const auto plan = plan_of(problem, "linear", bootstrap.rank(), Protocol::cma_get);
        const std::size_t bytes = (1 << 16) * sizeof(float);
        void* const unreadable = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        std::vector<float> output(1 << 16);
        executor.wait(
            executor.start(plan_of(float_problem(Collective::barrier, 2, 0), "one_shot", bootstrap.rank(), Protocol::staged), nullptr, nullptr, 1, "b"));
        // The root also copies into its own output, which would fault: only the receiver's side is of interest.
        Plan only_send = *plan;
        std::erase_if(only_send.operations, [](const Operation& operation) { return operation.kind == OperationKind::fold; });
        only_send.channel_begin = {0, 1, 1, 1, 1};
        const auto used = bootstrap.rank() == 0 ? std::make_shared<const Plan>(only_send) : plan;
        executor.wait(executor.start(used, unreadable, output.data(), 7, "broadcast"));
        return std::string("passed");
    });
    for (const test::RankResult& result : results)
        EXPECT_NE(result.text.find("rank 1 cannot reach the memory of rank 0 in call 2 'broadcast': Bad address"), std::string::npos) << result.text;
}

TEST(DirectCopies, AreRefusedForAllWhenOneRankCannot) {
    const auto results = run_processes(3, [](Bootstrap& bootstrap) {
        TransportOptions options = lanes();
        options.direct_copies = bootstrap.rank() != 1;
        const auto transport = make_shm_transport(bootstrap, options);
        EXPECT_EQ(transport->direct(), nullptr);
        Executor executor(*transport, {});
        std::vector<float> values(1 << 16);
        const auto plan = plan_of(float_problem(Collective::broadcast, 3, 1 << 16), "linear", bootstrap.rank(), Protocol::cma_get);
        try {
            executor.start(plan, values.data(), values.data(), 1, "broadcast");
        } catch (const core::Error& error) {
            return transport->direct_refusal() + " | " + error.what();
        }
        return std::string("started");
    });
    for (const test::RankResult& result : results) {
        EXPECT_EQ(result.text.find("direct copies are switched off on rank 1 | "), 0U) << result.text;
        EXPECT_NE(result.text.find("cannot run this plan: direct copies are switched off on rank 1"), std::string::npos) << result.text;
    }
}

TEST(DirectCopies, AConfigThatNeedsThemIsRefusedWithTheReason) {
    CommunicatorOptions options;
    options.lanes.direct_copies = false;
    const auto team = Communicator::make_local(2, options);
    const core::Config config = core::Config::parse("algorithm=linear,protocol=mixed");
    try {
        team[0]->prepare(float_problem(Collective::broadcast, 2, 1 << 16), config);
        FAIL() << "prepared";
    } catch (const core::Error& error) {
        EXPECT_EQ(error.code(), core::ErrorCode::usage);
        EXPECT_NE(std::string(error.what()).find("protocol=mixed: direct copies are switched off"), std::string::npos) << error.what();
    }
}

TEST(DirectCopies, OfTheOwnKindOfProcessesAreTriedWithAChild) {
    EXPECT_EQ(direct_refusal_here(), "");
}

TEST(DirectCopies, ProbesFindAProcessThatIsGoneAndANumberThatMeansAnother) {
    const std::array<std::int64_t, 2> gone = {getpid(), 0x7fffffff};
    const ProbeTarget target;
    const std::array<std::uint64_t, 2> targets = {target.address(), target.address()};
    EXPECT_EQ(probe_memories(0, gone, targets).error, ESRCH);
    const ProbeTarget other{1};
    const std::array<std::int64_t, 2> alike = {getpid(), getpid()};
    const std::array<std::uint64_t, 2> wrong = {target.address(), other.address()};
    EXPECT_EQ(probe_memories(0, alike, targets).error, 0);
    EXPECT_EQ(probe_memories(0, alike, wrong).error, ESRCH);
    EXPECT_EQ(probe_memories(0, alike, wrong).peer, 1);
}

TEST(Pieces, CoverEveryLengthOnceAndFitTheCounters) {
    for (const std::uint64_t length : {1ULL, 4095ULL, 16384ULL, 16385ULL, 1000003ULL, 1ULL << 25, (1ULL << 40) + 1}) {
        const Pieces pieces(length);
        EXPECT_LT(pieces.count, 1U << 16);
        std::uint64_t end = 0;
        for (const std::uint64_t piece : {std::uint64_t{0}, pieces.count - 1}) {
            EXPECT_LE(pieces.begin(piece) + pieces.size(piece), length);
            end = pieces.begin(piece) + pieces.size(piece);
        }
        EXPECT_EQ(end, length);
    }
}

TEST(SharedMessage, PiecesAreClaimedOnceFromBothEnds) {
    DirectLine line{};
    const Pieces pieces(1 << 20);
    Sharing receiver(line, 5, pieces), sender(line, 5, pieces), other(line, 6, pieces);
    EXPECT_FALSE(sender.claim_back());  // not opened yet
    receiver.open(0x1000);
    EXPECT_FALSE(other.claim_back());  // another message
    EXPECT_EQ(sender.destination(), 0x1000U);
    EXPECT_EQ(receiver.claim_front(), 0U);
    EXPECT_EQ(sender.claim_back(), pieces.count - 1);
    for (std::uint64_t piece = 1; piece + 1 < pieces.count; ++piece)
        EXPECT_EQ(receiver.claim_front(), piece);
    EXPECT_FALSE(receiver.claim_front());
    EXPECT_FALSE(sender.claim_back());
    EXPECT_FALSE(receiver.complete());
    sender.wrote();
    EXPECT_TRUE(receiver.complete());
}

}  // namespace
}  // namespace attune::collectives
