// The executor over streams, alone and mixed with shared memory: the same bits as the reference walk, and what happens when ranks die, leave or disagree.
#include "collectives/executor.hpp"
#include "collectives/node_map.hpp"
#include "libcore/clock.hpp"
#include "libcore/error.hpp"
#include "tests/support/executor_cases.hpp"
#include "tests/support/parameter_name.hpp"
#include "tests/support/process_team.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <ostream>
#include <string>

#include <sched.h>
#include <sys/stat.h>
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

// `nodes` is empty for tcp between all ranks.
std::unique_ptr<Transport> open(Bootstrap& bootstrap, const std::string& nodes, const TransportOptions& options) {
    if (nodes.empty()) return make_tcp_transport(bootstrap, options);
    return make_mixed_transport(bootstrap, options, NodeMap::parse(nodes));
}

std::string texts(const std::vector<RankResult>& results) {
    std::string all;
    for (const RankResult& result : results)
        all += result.text + (result.status == 0 ? "" : " (status " + std::to_string(result.status) + ")");
    return all;
}

struct Shape {
    int ranks = 1;
    std::string nodes;
    friend void PrintTo(const Shape& shape, std::ostream* out) { *out << shape.ranks << ' ' << shape.nodes; }
};

class NetworkRanks : public testing::TestWithParam<Shape> {};

TEST_P(NetworkRanks, EqualTheReferenceWalkForEveryAlgorithm) {
    const auto p = static_cast<std::uint64_t>(GetParam().ranks);
    const auto cases = test::make_cases({GetParam().ranks, {0, 1, p - 1, p + 1, 1009}, {{0, 1}, {300, 2}}});
    const auto results = run_processes(GetParam().ranks, [&](Bootstrap& bootstrap) {
        const auto transport = open(bootstrap, GetParam().nodes, lanes(64 << 20));
        return test::run_cases(*transport, cases, {.compile = {}, .in_flight = 2});
    });
    EXPECT_EQ(texts(results), "");
}

TEST_P(NetworkRanks, EqualTheReferenceWalkInTinyWindows) {
    const auto cases = test::make_cases({GetParam().ranks, {20011}, {{0, 1}, {5000, 2}}});
    test::RunOptions options{.compile = {}, .in_flight = 4};
    options.compile.fragment_bytes = 4096;
    const auto results = run_processes(GetParam().ranks, [&](Bootstrap& bootstrap) {
        const auto transport = open(bootstrap, GetParam().nodes, lanes(1));
        return test::run_cases(*transport, cases, options);
    });
    EXPECT_EQ(texts(results), "");
}

std::string name_of_shape(const testing::TestParamInfo<Shape>& info) {
    return test::parameter_name(std::to_string(info.param.ranks) + "ranks" + info.param.nodes);
}

INSTANTIATE_TEST_SUITE_P(Tcp, NetworkRanks,
                         testing::Values(Shape{1, ""}, Shape{2, ""}, Shape{3, ""}, Shape{4, ""}, Shape{5, ""}, Shape{6, ""}, Shape{7, ""}, Shape{8, ""},
                                         Shape{9, ""}),
                         name_of_shape);
INSTANTIATE_TEST_SUITE_P(Mixed, NetworkRanks,
                         testing::Values(Shape{1, "1x1"}, Shape{2, "1x2"}, Shape{2, "2x1"}, Shape{3, "2,1"}, Shape{4, "2x2"}, Shape{4, "2x2:cyclic"},
                                         Shape{4, "irregular:0,1,1,0"}, Shape{5, "2,2,1"}, Shape{6, "3x2"}, Shape{7, "4,3"}, Shape{8, "2x4:cyclic"},
                                         Shape{9, "4,4,1:cyclic"}),
                         name_of_shape);

// Failures look the same whichever way the ranks are joined.
class NetworkFailures : public testing::TestWithParam<std::string> {
protected:
    static std::unique_ptr<Transport> made(Bootstrap& bootstrap) {
        const std::string& kind = GetParam();
        const std::string nodes = kind == "tcp" ? "" : bootstrap.size() == 2 ? "2x1" : "irregular:0,1,0";
        return open(bootstrap, nodes, lanes(64 << 20));
    }
};

std::shared_ptr<const Plan> plan_for(Collective collective, std::string_view algorithm, const Bootstrap& team, std::uint64_t count, int root = 0) {
    Problem problem;
    problem.collective = collective;
    problem.ranks = team.size();
    problem.count = count;
    problem.root = root;
    return std::make_shared<const Plan>(compile(problem, generate(problem, *find_algorithm(collective, algorithm), {}, team.rank()), {}));
}

void pass_barrier(Bootstrap& bootstrap, Executor& executor) {
    executor.wait(executor.start(plan_for(Collective::barrier, "dissemination", bootstrap, 0), nullptr, nullptr, 5, "barrier"));
}

TEST_P(NetworkFailures, AKilledRankIsNamedByAllOthersWithinASecond) {
    const auto results = run_processes(3, [](Bootstrap& bootstrap) {
        const auto transport = made(bootstrap);
        Executor executor(*transport, {});
        pass_barrier(bootstrap, executor);
        if (bootstrap.rank() == 1) raise(SIGKILL);
        const std::int64_t begin = core::now_ns();
        try {
            pass_barrier(bootstrap, executor);
        } catch (const core::Error& error) {
            const bool in_time = core::now_ns() - begin < 1'000'000'000;
            return std::string(error.what()) + (in_time ? "" : " TOO LATE");
        }
        return std::string("passed");
    });
    EXPECT_EQ(results[1].status, 128 + SIGKILL);
    for (const std::size_t rank : {0U, 2U}) {
        EXPECT_NE(results[rank].text.find("rank 1 (process "), std::string::npos) << results[rank].text;
        EXPECT_NE(results[rank].text.find("is gone: rank"), std::string::npos) << results[rank].text;
        EXPECT_EQ(results[rank].text.find("TOO LATE"), std::string::npos);
    }
}

// Rank 0 has left, and more than a socket holds is on its way, when rank 1 begins to read.
TEST_P(NetworkFailures, ARankThatLeavesAfterItsPartIsNoError) {
    const auto results = run_processes(2, [](Bootstrap& bootstrap) {
        const auto transport = made(bootstrap);
        Executor executor(*transport, {});
        constexpr std::uint64_t count = 1 << 17;
        std::vector<float> values(count, bootstrap.rank() == 0 ? 7.0F : 0.0F), result(count);
        if (bootstrap.rank() == 1) {
            while (transport->dead_ranks().empty())
                sched_yield();
        }
        executor.wait(executor.start(plan_for(Collective::broadcast, "linear", bootstrap, count), values.data(), result.data(), 5, "broadcast"));
        return result == std::vector<float>(count, 7.0F) ? std::string{} : std::string("wrong values");
    });
    EXPECT_EQ(texts(results), "");
}

// It said goodbye, so nobody takes its end for a death.
TEST_P(NetworkFailures, ARankThatEndsWhileOthersNeedItIsSaidToHaveEnded) {
    const auto results = run_processes(2, [](Bootstrap& bootstrap) {
        const auto transport = made(bootstrap);
        Executor executor(*transport, {});
        pass_barrier(bootstrap, executor);
        if (bootstrap.rank() == 1) return std::string{};
        try {
            pass_barrier(bootstrap, executor);
        } catch (const core::Error& error) {
            return std::string(error.what());
        }
        return std::string("passed");
    });
    EXPECT_NE(results[0].text.find("rank 1 (process "), std::string::npos) << results[0].text;
    EXPECT_NE(results[0].text.find("has ended its communicator: rank 0 waits in call"), std::string::npos) << results[0].text;
}

// Both transports close at once, though one has much on its way that the dead rank will never read.
TEST_P(NetworkFailures, ClosingWaitsForNobodyWhoIsDead) {
    const auto results = run_processes(2, [](Bootstrap& bootstrap) {
        auto transport = made(bootstrap);
        Executor executor(*transport, {});
        pass_barrier(bootstrap, executor);
        std::vector<float> values(1 << 20);
        if (bootstrap.rank() == 1) raise(SIGKILL);
        std::string seen;
        try {
            executor.wait(executor.start(plan_for(Collective::broadcast, "linear", bootstrap, values.size()), values.data(), values.data(), 5, "broadcast"));
        } catch (const core::Error& error) {
            seen = error.what();
        }
        const std::int64_t begin = core::now_ns();
        transport.reset();
        return seen + (core::now_ns() - begin < 2'000'000'000 ? "" : " TOO LATE");
    });
    EXPECT_NE(results[0].text.find("rank 1 (process "), std::string::npos) << results[0].text;
    EXPECT_NE(results[0].text.find("is gone"), std::string::npos) << results[0].text;
    EXPECT_EQ(results[0].text.find("TOO LATE"), std::string::npos) << results[0].text;
}

// One stream joins a pair until a call wants several channels; then each channel gets its own, while calls go on.
TEST_P(NetworkFailures, FurtherStreamsAreOpenedWhenACallWantsChannels) {
    const auto sockets = [] {
        std::size_t count = 0;
        for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
            struct stat status {};
            if (::stat(entry.path().c_str(), &status) == 0 && S_ISSOCK(status.st_mode)) ++count;
        }
        return count;
    };
    const auto results = run_processes(3, [&](Bootstrap& bootstrap) {
        const std::size_t before = sockets();
        const auto transport = made(bootstrap);
        const std::size_t peers = GetParam() == "tcp" || bootstrap.rank() == 1 ? 2 : 1;
        std::string seen = sockets() == before + peers ? "" : "not one stream for each peer;";
        Executor executor(*transport, {});
        Problem problem;
        problem.ranks = bootstrap.size();
        problem.count = 10007;
        const auto plan = [&](const std::string& config) {
            return std::make_shared<const Plan>(compile(problem, generate(problem, core::Config::parse(config), bootstrap.rank()),
                                                        compile_options(core::Config::parse(config), transport->fragment_bytes())));
        };
        const auto several = plan("algorithm=ring,channels=2"), one = plan("algorithm=ring");
        std::vector<float> values(problem.count, 1.0F), result(problem.count);
        const std::size_t all = before + peers * static_cast<std::size_t>(transport->channels());
        for (int call = 0; call < 100'000; ++call) {
            values[0] = sockets() == all ? 1 : 0;  // who has all its streams; calls end on all ranks at once
            executor.wait(executor.start(call % 2 == 0 ? several : one, values.data(), result.data(), 7, "all_reduce"));
            if (std::count(result.begin() + 1, result.end(), 3.0F) != static_cast<std::ptrdiff_t>(problem.count) - 1) return seen + "wrong values";
            if (call >= 100 && result[0] == 3.0F) return seen;
        }
        return seen + "the further streams are missing";
    });
    EXPECT_EQ(texts(results), "");
}

TEST_P(NetworkFailures, DifferentCallsNameBothRanksAndBothCalls) {
    const auto results = run_processes(2, [](Bootstrap& bootstrap) {
        const auto transport = made(bootstrap);
        Executor executor(*transport, {});
        pass_barrier(bootstrap, executor);
        std::vector<float> values(8), result(8);
        const bool first = bootstrap.rank() == 0;
        const auto plan = plan_for(Collective::all_reduce, first ? "one_shot" : "two_shot", bootstrap, 8);
        executor.wait(executor.start(plan, values.data(), result.data(), first ? 1 : 2, first ? "all_reduce one" : "all_reduce two"));
        return std::string("passed");
    });
    for (const RankResult& result : results) {
        EXPECT_EQ(result.status, 1);
        for (const char* words : {"ranks disagree", "rank 0", "rank 1"})
            EXPECT_NE(result.text.find(words), std::string::npos) << result.text;
    }
}

// Two ranks that both only receive exchange nothing: what they tell each other when they have waited long does.
TEST_P(NetworkFailures, CallsThatExchangeNothingAreFoundByTheirRecords) {
    const auto results = run_processes(2, [](Bootstrap& bootstrap) {
        const auto transport = made(bootstrap);
        Executor executor(*transport, {});
        const int root = 1 - bootstrap.rank();
        std::vector<float> result(4);
        const std::string text = "broadcast root " + std::to_string(root);
        executor.wait(
            executor.start(plan_for(Collective::broadcast, "linear", bootstrap, 4, root), nullptr, result.data(), static_cast<std::uint64_t>(root), text));
        return std::string("passed");
    });
    for (const RankResult& result : results) {
        EXPECT_NE(result.text.find("'broadcast root 0'"), std::string::npos) << result.text;
        EXPECT_NE(result.text.find("'broadcast root 1'"), std::string::npos) << result.text;
    }
}

TEST_P(NetworkFailures, ALateRankIsReportedOnceAndTimesOutOnlyWhenAsked) {
    const auto results = run_processes(2, [](Bootstrap& bootstrap) {
        const auto transport = made(bootstrap);
        std::string reports;
        ExecutorOptions options;
        options.late_report_ns = 20'000'000;
        options.timeout_ns = 300'000'000;
        options.warn = [&](const std::string& text) { reports += "[" + text + "]"; };
        Executor executor(*transport, options);
        if (bootstrap.rank() == 1) {
            while (transport->abort_reason().empty())
                transport->refresh();
            return transport->abort_reason();
        }
        try {
            pass_barrier(bootstrap, executor);
        } catch (const core::Error& error) {
            reports += error.what();
        }
        return reports;
    });
    EXPECT_EQ(results[0].text.find("[rank 0 has waited"), 0U) << results[0].text;
    EXPECT_EQ(results[0].text.find("[rank", 1), std::string::npos) << results[0].text;
    EXPECT_NE(results[0].text.find("rank 1, which is alive"), std::string::npos) << results[0].text;
    EXPECT_NE(results[1].text.find("timeout: rank 0 waited"), std::string::npos) << results[1].text;
}

TEST_P(NetworkFailures, AnAbortReachesEveryWaitAndStays) {
    const auto results = run_processes(3, [](Bootstrap& bootstrap) {
        const auto transport = made(bootstrap);
        Executor executor(*transport, {});
        if (bootstrap.rank() == 2) {
            transport->abort("rank 2 gives up");
            transport->abort("a later reason");
            return std::string{};
        }
        std::string seen;
        for (int attempt = 0; attempt < 2; ++attempt) {
            try {
                pass_barrier(bootstrap, executor);
            } catch (const core::Error& error) {
                seen += std::string(error.what()) + ";";
            }
        }
        return seen;
    });
    for (const std::size_t rank : {0U, 1U})
        EXPECT_EQ(results[rank].text, "rank 2 gives up;rank 2 gives up;");
}

TEST_P(NetworkFailures, UnequalOptionsAreAnErrorOnEveryRank) {
    const auto results = run_processes(2, [](Bootstrap& bootstrap) {
        TransportOptions options = lanes(64 << 20);
        options.channels = 1 + bootstrap.rank();
        open(bootstrap, GetParam() == "tcp" ? "" : "2x1", options);
        return std::string("made");
    });
    for (const RankResult& result : results)
        EXPECT_NE(result.text.find("pass equal transport options"), std::string::npos) << result.text;
}

TEST_P(NetworkFailures, NoDescriptorStaysOpen) {
    const auto count = [] { return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator()); };
    const auto results = run_processes(3, [&](Bootstrap& bootstrap) {
        const auto before = count();
        made(bootstrap);
        return count() == before ? std::string{} : std::string("open descriptors");
    });
    EXPECT_EQ(texts(results), "");
}

INSTANTIATE_TEST_SUITE_P(Kinds, NetworkFailures, testing::Values("tcp", "mixed"), [](const auto& info) { return info.param; });

TEST(TcpTransport, ListensOnlyWhereItIsTold) {
    const auto results = run_processes(2, [](Bootstrap& bootstrap) {
        TransportOptions options = lanes(64 << 20);
        options.network.interface = "no_such_interface";
        try {
            make_tcp_transport(bootstrap, options);
        } catch (const core::Error& error) {
            return std::string(error.what());
        }
        return std::string("made");
    });
    for (const RankResult& result : results)
        EXPECT_NE(result.text.find("there is no network interface 'no_such_interface'"), std::string::npos) << result.text;
}

}  // namespace
}  // namespace attune::collectives
