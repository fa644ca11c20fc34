// The executor over processes: the same bits as the reference walk, and what happens when ranks die, leave, disagree or come late.
#include "collectives/executor.hpp"

#include "libcore/clock.hpp"
#include "libcore/error.hpp"
#include "tests/support/executor_cases.hpp"
#include "tests/support/process_team.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <string>

#include <unistd.h>

namespace attune::collectives {
namespace {

using test::RankResult;
using test::run_processes;

TransportOptions lanes(std::uint64_t staging_bytes) {
    TransportOptions options;
    options.staging_bytes = staging_bytes;
    options.oversubscribed = true;
    return options;
}

std::string texts(const std::vector<RankResult>& results) {
    std::string all;
    for (const RankResult& result : results)
        all += result.text + (result.status == 0 ? "" : " (status " + std::to_string(result.status) + ")");
    return all;
}

// A plan of rank r for an all_reduce or a broadcast of `count` floats.
std::shared_ptr<const Plan> plan_for(Collective collective, std::string_view algorithm, const Bootstrap& team, std::uint64_t count) {
    Problem problem;
    problem.collective = collective;
    problem.ranks = team.size();
    problem.count = count;
    return std::make_shared<const Plan>(compile(problem, generate(problem, *find_algorithm(collective, algorithm), {}, team.rank()), {}));
}

class ShmRanks : public testing::TestWithParam<int> {};

TEST_P(ShmRanks, EqualTheReferenceWalkForEveryAlgorithm) {
    const auto p = static_cast<std::uint64_t>(GetParam());
    const auto cases = test::make_cases({GetParam(), {0, 1, p - 1, p + 1, 1009}, {{0, 1}, {300, 2}}});
    const auto results = run_processes(GetParam(), [&](Bootstrap& bootstrap) {
        const auto transport = make_shm_transport(bootstrap, lanes(64 << 20));
        return test::run_cases(*transport, cases, {.compile = {}, .in_flight = 2});
    });
    EXPECT_EQ(texts(results), "");
}

TEST_P(ShmRanks, EqualTheReferenceWalkInTinyWindows) {
    const auto cases = test::make_cases({GetParam(), {20011}, {{0, 1}, {5000, 2}}});
    test::RunOptions options{.compile = {}, .in_flight = 4};
    options.compile.fragment_bytes = 4096;
    const auto results = run_processes(GetParam(), [&](Bootstrap& bootstrap) {
        const auto transport = make_shm_transport(bootstrap, lanes(1));
        return test::run_cases(*transport, cases, options);
    });
    EXPECT_EQ(texts(results), "");
}

INSTANTIATE_TEST_SUITE_P(Ranks, ShmRanks, testing::Range(1, 10), testing::PrintToStringParamName());

// Every rank runs `calls` barriers and then `last`.
using LastAct = std::function<std::string(Bootstrap&, Executor&)>;
std::vector<RankResult> after_barriers(int ranks, int calls, const ExecutorOptions& options, const LastAct& last) {
    return run_processes(ranks, [&](Bootstrap& bootstrap) {
        const auto transport = make_shm_transport(bootstrap, lanes(64 << 20));
        Executor executor(*transport, options);
        const auto barrier = plan_for(Collective::barrier, "dissemination", bootstrap, 0);
        for (int call = 0; call < calls; ++call)
            executor.wait(executor.start(barrier, nullptr, nullptr, 5, "barrier"));
        return last(bootstrap, executor);
    });
}

std::string barrier_once_more(Bootstrap& bootstrap, Executor& executor) {
    executor.wait(executor.start(plan_for(Collective::barrier, "dissemination", bootstrap, 0), nullptr, nullptr, 5, "barrier"));
    return "passed";
}

TEST(ShmFailures, AKilledRankIsNamedByAllOthersWithinASecond) {
    const auto results = after_barriers(3, 2, {}, [](Bootstrap& bootstrap, Executor& executor) {
        if (bootstrap.rank() == 1) raise(SIGKILL);
        const std::int64_t begin = core::now_ns();
        try {
            return barrier_once_more(bootstrap, executor);
        } catch (const core::Error& error) {
            const bool in_time = core::now_ns() - begin < 1'000'000'000;
            return std::string(error.what()) + (in_time ? "" : " TOO LATE");
        }
    });
    EXPECT_EQ(results[1].status, 128 + SIGKILL);
    for (const std::size_t rank : {0U, 2U}) {
        EXPECT_NE(results[rank].text.find("rank 1 (process "), std::string::npos) << results[rank].text;
        EXPECT_NE(results[rank].text.find("is gone: rank"), std::string::npos) << results[rank].text;
        EXPECT_NE(results[rank].text.find("call 3 'barrier'"), std::string::npos) << results[rank].text;
        EXPECT_EQ(results[rank].text.find("TOO LATE"), std::string::npos);
    }
}

// A broadcast that every rank hands on to the next.
Schedule chain_of(const Problem& problem, Rank rank) {
    Schedule schedule;
    schedule.rank = rank;
    Step step;
    step.length = problem.count;
    step.destination = BufferId::output;
    step.kind = rank == 0 ? StepKind::copy : StepKind::recv;
    step.peer = rank - 1;
    schedule.steps.push_back(step);
    step.kind = StepKind::send;
    step.source = BufferId::output;
    step.peer = rank + 1;
    if (step.peer < problem.ranks) schedule.steps.push_back(step);
    return schedule;
}

// Rank 0 is gone when rank 1 starts; rank 2 looks for dead ranks several times before its message comes.
TEST(ShmFailures, ARankThatLeavesAfterItsPartIsNoError) {
    const auto results = run_processes(3, [](Bootstrap& bootstrap) {
        const auto transport = make_shm_transport(bootstrap, lanes(64 << 20));
        Executor executor(*transport, {});
        Problem problem;
        problem.collective = Collective::broadcast;
        problem.ranks = 3;
        problem.count = 4;
        std::vector<float> values(4, bootstrap.rank() == 0 ? 7.0F : 0.0F), result(4);
        if (bootstrap.rank() == 1) {
            while (transport->dead_ranks().empty())
                sched_yield();
            for (const std::int64_t begin = core::now_ns(); core::now_ns() - begin < 200'000'000;)
                sched_yield();
        }
        const auto plan = std::make_shared<const Plan>(compile(problem, chain_of(problem, bootstrap.rank()), {}));
        executor.wait(executor.start(plan, values.data(), result.data(), 5, "broadcast"));
        return result == std::vector<float>(4, 7.0F) ? std::string{} : std::string("wrong values");
    });
    EXPECT_EQ(texts(results), "");
}

TEST(ShmFailures, DifferentCallsNameBothRanksAndBothCalls) {
    const auto results = after_barriers(2, 1, {}, [](Bootstrap& bootstrap, Executor& executor) {
        std::vector<float> values(8);
        const bool first = bootstrap.rank() == 0;
        const auto plan = plan_for(Collective::all_reduce, first ? "one_shot" : "two_shot", bootstrap, 8);
        std::vector<float> result(8);
        executor.wait(executor.start(plan, values.data(), result.data(), first ? 1 : 2, first ? "all_reduce one" : "all_reduce two"));
        return std::string("passed");
    });
    for (const RankResult& result : results) {
        EXPECT_EQ(result.status, 1);
        for (const char* words : {"ranks disagree", "rank 0", "rank 1", "call 2 'all_reduce one'", "call 2 'all_reduce two'"}) {
            EXPECT_NE(result.text.find(words), std::string::npos) << result.text;
        }
    }
}

// Two ranks that both only receive exchange nothing: the published records tell.
TEST(ShmFailures, CallsThatExchangeNothingAreFoundByTheirRecords) {
    const auto results = run_processes(2, [](Bootstrap& bootstrap) {
        const auto transport = make_shm_transport(bootstrap, lanes(64 << 20));
        Executor executor(*transport, {});
        Problem problem;
        problem.collective = Collective::broadcast;
        problem.ranks = 2;
        problem.count = 4;
        problem.root = 1 - bootstrap.rank();
        const Schedule schedule = generate(problem, *find_algorithm(Collective::broadcast, "linear"), {}, bootstrap.rank());
        std::vector<float> result(4);
        const std::string text = "broadcast root " + std::to_string(problem.root);
        executor.wait(executor.start(std::make_shared<const Plan>(compile(problem, schedule, {})), nullptr, result.data(),
                                     static_cast<std::uint64_t>(problem.root), text));
        return std::string("passed");
    });
    for (const RankResult& result : results) {
        EXPECT_NE(result.text.find("'broadcast root 0'"), std::string::npos) << result.text;
        EXPECT_NE(result.text.find("'broadcast root 1'"), std::string::npos) << result.text;
    }
}

TEST(ShmFailures, ALateRankIsReportedOnceAndTimesOutOnlyWhenAsked) {
    const auto results = run_processes(2, [](Bootstrap& bootstrap) {
        const auto transport = make_shm_transport(bootstrap, lanes(64 << 20));
        std::string reports;
        ExecutorOptions options;
        options.late_report_ns = 20'000'000;
        options.timeout_ns = 300'000'000;
        options.warn = [&](const std::string& text) { reports += "[" + text + "]"; };
        Executor executor(*transport, options);
        const auto barrier = plan_for(Collective::barrier, "dissemination", bootstrap, 0);
        if (bootstrap.rank() == 1) {
            while (transport->abort_reason().empty())
                sched_yield();
            return transport->abort_reason();
        }
        try {
            executor.wait(executor.start(barrier, nullptr, nullptr, 5, "barrier"));
        } catch (const core::Error& error) {
            reports += error.what();
        }
        return reports;
    });
    EXPECT_EQ(results[0].text.find("[rank 0 has waited"), 0U) << results[0].text;
    EXPECT_EQ(results[0].text.find("[rank", 1), std::string::npos) << results[0].text;
    EXPECT_NE(results[0].text.find("rank 1, which is alive"), std::string::npos) << results[0].text;
    EXPECT_NE(results[1].text.find("timeout: rank 0 waited"), std::string::npos) << results[1].text;
    EXPECT_NE(results[1].text.find("call 1 'barrier'"), std::string::npos) << results[1].text;
}

TEST(ShmFailures, AnAbortReachesEveryWaitAndStays) {
    const auto results = run_processes(3, [](Bootstrap& bootstrap) {
        const auto transport = make_shm_transport(bootstrap, lanes(64 << 20));
        Executor executor(*transport, {});
        const auto barrier = plan_for(Collective::barrier, "dissemination", bootstrap, 0);
        if (bootstrap.rank() == 2) {
            transport->abort("rank 2 gives up");
            transport->abort("a later reason");
            return std::string{};
        }
        std::string seen;
        for (int attempt = 0; attempt < 2; ++attempt) {
            try {
                executor.wait(executor.start(barrier, nullptr, nullptr, 5, "barrier"));
            } catch (const core::Error& error) {
                seen += std::string(error.what()) + ";";
            }
        }
        return seen;
    });
    for (const std::size_t rank : {0U, 1U})
        EXPECT_EQ(results[rank].text, "rank 2 gives up;rank 2 gives up;");
}

TEST(ShmTransport, UnequalOptionsAreAnErrorOnEveryRank) {
    const auto results = run_processes(2, [](Bootstrap& bootstrap) {
        TransportOptions options = lanes(64 << 20);
        options.channels = 1 + bootstrap.rank();
        make_shm_transport(bootstrap, options);
        return std::string("made");
    });
    for (const RankResult& result : results)
        EXPECT_NE(result.text.find("pass equal transport options"), std::string::npos) << result.text;
}

TEST(ShmTransport, LeavesNoNameAndNoDescriptorBehind) {
    const auto count = [](const char* folder) { return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()); };
    const auto results = run_processes(2, [&](Bootstrap& bootstrap) {
        const auto names = count("/dev/shm"), descriptors = count("/proc/self/fd");
        {
            const auto transport = make_shm_transport(bootstrap, lanes(64 << 20));
            EXPECT_EQ(transport->size(), 2);
            if (count("/dev/shm") != names) return std::string("a name in /dev/shm");
        }
        return count("/proc/self/fd") == descriptors ? std::string{} : std::string("open descriptors");
    });
    EXPECT_EQ(texts(results), "");
}

}  // namespace
}  // namespace attune::collectives
