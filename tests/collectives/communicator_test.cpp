// Communicators of threads: right results everywhere, misuse refused before anything is sent, differing calls named.
#include "collectives/communicator.hpp"

#include "collectives/catalogue.hpp"
#include "libcore/error.hpp"
#include "tests/support/communicator_cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace attune::collectives {
namespace {

using test::on_threads;

Problem problem_of(Collective collective, std::uint64_t count) {
    Problem problem;
    problem.collective = collective;
    problem.count = count;
    return problem;
}

CommunicatorOptions quiet() {
    CommunicatorOptions options;
    options.log = core::Log(core::LogLevel::warn, "test", [](std::string_view) {});
    return options;
}

bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

class EveryCase : public testing::TestWithParam<int> {};

TEST_P(EveryCase, IsRightOnEveryRank) {
    const auto p = static_cast<std::uint64_t>(GetParam());
    const std::vector<std::uint64_t> counts = {0, 1, p - 1, p, p + 1, 1009};
    auto team = Communicator::make_local(GetParam(), quiet());
    const auto thrown = on_threads(GetParam(), [&](int rank) { EXPECT_EQ(test::run_cases(*team[static_cast<std::size_t>(rank)], counts), ""); });
    EXPECT_EQ(std::ranges::count(thrown, ""), GetParam()) << thrown.front();
}

TEST_P(EveryCase, IsRightWithEveryAlgorithm) {
    const std::vector<std::uint64_t> counts = {1, 997};
    auto team = Communicator::make_local(GetParam(), quiet());
    const auto thrown = on_threads(GetParam(), [&](int rank) {
        for (const test::Case& one : test::cases_for(GetParam(), counts)) {
            if (one.problem.op == core::Op::prod || one.problem.dtype == core::DType::float64) continue;
            for (const Algorithm* algorithm : algorithms_for(one.problem.collective)) {
                core::Config config = team.front()->choice(one.problem).config;
                config.set("algorithm", algorithm->name);
                if (reject(one.problem, config)) continue;
                EXPECT_EQ(test::run_case(*team[static_cast<std::size_t>(rank)], one, config), "") << one.text() << " " << config.text();
            }
        }
    });
    EXPECT_EQ(std::ranges::count(thrown, ""), GetParam()) << thrown.front();
}
INSTANTIATE_TEST_SUITE_P(Ranks, EveryCase, testing::Range(1, 10));

TEST(CommunicatorTest, LargeVectorsAreRight) {
    auto team = Communicator::make_local(3, quiet());
    const std::vector<std::uint64_t> counts = {1'000'003};
    const auto thrown = on_threads(3, [&](int rank) {
        for (const test::Case& one : test::cases_for(3, counts))
            if (one.problem.dtype == core::DType::float32 && one.problem.op == core::Op::sum) {
                EXPECT_EQ(test::run_case(*team[static_cast<std::size_t>(rank)], one), "") << one.text();
            }
    });
    EXPECT_EQ(std::ranges::count(thrown, ""), 3) << thrown.front();
}

TEST(CommunicatorTest, CallsInFlightMayBeAwaitedInAnyOrder) {
    auto team = Communicator::make_local(3, quiet());
    const auto thrown = on_threads(3, [&](int rank) {
        Communicator& own = *team[static_cast<std::size_t>(rank)];
        constexpr std::uint64_t calls = 9;
        std::vector<std::vector<std::int64_t>> buffers;
        std::vector<Ticket> tickets;
        for (std::uint64_t i = 0; i < calls; ++i)
            buffers.emplace_back(i * 1000 + 1, rank + 1);
        for (std::uint64_t i = 0; i < calls; ++i) {
            Problem problem = problem_of(Collective::all_reduce, buffers[i].size());
            problem.dtype = core::DType::int64;
            problem.in_place = true;
            tickets.push_back(own.start(problem, buffers[i].data(), buffers[i].data()));
        }
        while (!own.done(tickets[calls / 2])) {
        }
        for (std::uint64_t i = calls; i-- > 0;)
            own.wait(tickets[i]);
        for (const auto& buffer : buffers)
            EXPECT_EQ(std::ranges::count(buffer, 6), static_cast<std::ptrdiff_t>(buffer.size()));
        EXPECT_TRUE(own.done(tickets[0]));
    });
    EXPECT_EQ(std::ranges::count(thrown, ""), 3) << thrown.front();
}

TEST(CommunicatorTest, DifferentCallsAreNamedOnAllRanks) {
    auto team = Communicator::make_local(2, quiet());
    const auto thrown = on_threads(2, [&](int rank) {
        std::vector<float> input(100), output(100);
        team[static_cast<std::size_t>(rank)]->run(problem_of(Collective::all_reduce, rank == 0 ? 10 : 11), input.data(), output.data());
    });
    for (const std::string& error : thrown)
        EXPECT_TRUE(contains(error, "all_reduce 10") && contains(error, "all_reduce 11")) << error;
}

TEST(CommunicatorTest, CheckedCallsNameTwoRootsThatWouldBothOnlySend) {
    CommunicatorOptions options = quiet();
    options.check_calls = true;
    auto team = Communicator::make_local(3, options);
    const auto thrown = on_threads(3, [&](int rank) {
        std::vector<float> buffer(8, 1);
        Communicator& own = *team[static_cast<std::size_t>(rank)];
        Problem problem = problem_of(Collective::broadcast, 8);
        problem.in_place = true;
        own.run(problem, buffer.data(), buffer.data());
        problem.root = rank == 2 ? 2 : 1;
        own.run(problem, buffer.data(), buffer.data());
    });
    for (const std::string& error : thrown) {
        EXPECT_TRUE(contains(error, "rank 0 calls broadcast 8 float32 root 1")) << error;
        EXPECT_TRUE(contains(error, "rank 2 calls broadcast 8 float32 root 2")) << error;
    }
}

TEST(CommunicatorTest, AnotherConfigIsAnotherCall) {
    auto team = Communicator::make_local(2, quiet());
    const auto thrown = on_threads(2, [&](int rank) {
        std::vector<float> input(100), output(100);
        Communicator& own = *team[static_cast<std::size_t>(rank)];
        const Problem problem = problem_of(Collective::all_reduce, 100);
        core::Config config = own.choice(problem).config;
        config.set("algorithm", std::string_view(rank == 0 ? "ring" : "two_shot"));
        own.run(problem, config, input.data(), output.data());
    });
    for (const std::string& error : thrown)
        EXPECT_TRUE(contains(error, "algorithm=ring") && contains(error, "algorithm=two_shot")) << error;
}

// One rank is enough: misuse is refused before anything is sent.
std::string refusal(const Problem& problem, const void* input, void* output) {
    auto team = Communicator::make_local(2, quiet());
    try {
        team[1]->run(problem, input, output);
    } catch (const core::Error& error) {
        EXPECT_EQ(error.code(), core::ErrorCode::usage);
        return error.what();
    }
    return "accepted";
}

TEST(CommunicatorTest, RefusesOverlappingBuffers) {
    std::vector<float> memory(64);
    EXPECT_TRUE(contains(refusal(problem_of(Collective::all_reduce, 32), memory.data(), memory.data() + 31), "overlap"));
    EXPECT_TRUE(contains(refusal(problem_of(Collective::all_reduce, 32), memory.data() + 31, memory.data()), "overlap"));
    EXPECT_TRUE(contains(refusal(problem_of(Collective::all_gather, 16), memory.data() + 16, memory.data()), "overlap"));
    EXPECT_TRUE(contains(refusal(problem_of(Collective::all_reduce, 32), memory.data(), memory.data()), "in-place form"));
}

TEST(CommunicatorTest, AcceptsAdjacentBuffersAndIgnoresTheInputOfNonRoots) {
    auto team = Communicator::make_local(1, quiet());
    std::vector<float> memory(64, 2);
    team[0]->run(problem_of(Collective::all_reduce, 32), memory.data(), memory.data() + 32);
    auto pair = Communicator::make_local(2, quiet());
    const auto thrown = on_threads(2, [&](int rank) {
        std::vector<float> output(8), input(8, 5);
        pair[static_cast<std::size_t>(rank)]->run(problem_of(Collective::broadcast, 8), rank == 0 ? input.data() : nullptr, output.data());
        EXPECT_EQ(output[7], 5);
    });
    EXPECT_EQ(thrown, std::vector<std::string>(2));
}

TEST(CommunicatorTest, RefusesNullBuffersRootsAndCountsThatMakeNoSense) {
    std::vector<float> a(64), b(64);
    EXPECT_TRUE(contains(refusal(problem_of(Collective::all_reduce, 32), nullptr, b.data()), "null"));
    EXPECT_TRUE(contains(refusal(problem_of(Collective::all_reduce, 32), a.data(), nullptr), "null"));
    for (const int root : {-1, 2}) {
        Problem problem = problem_of(Collective::broadcast, 32);
        problem.root = root;
        EXPECT_TRUE(contains(refusal(problem, a.data(), b.data()), "root"));
    }
    EXPECT_TRUE(contains(refusal(problem_of(Collective::barrier, 3), nullptr, nullptr), "barrier"));
    EXPECT_TRUE(contains(refusal(problem_of(Collective::all_gather, std::uint64_t{1} << 61), a.data(), b.data()), "larger than any memory"));
    EXPECT_TRUE(contains(refusal(problem_of(Collective::all_gather, ~std::uint64_t{0}), a.data(), b.data()), "larger than any memory"));
    Problem in_place = problem_of(Collective::all_reduce, 32);
    in_place.in_place = true;
    EXPECT_TRUE(contains(refusal(in_place, a.data(), b.data()), "one buffer"));
    EXPECT_TRUE(contains(refusal(in_place, nullptr, nullptr), "null"));
}

TEST(CommunicatorTest, RefusesAConfigThatCannotRun) {
    CommunicatorOptions narrow = quiet();
    narrow.lanes.channels = 2;
    auto team = Communicator::make_local(1, narrow);
    std::vector<float> a(64), b(64);
    const Problem problem = problem_of(Collective::all_reduce, 64);
    EXPECT_THROW(team[0]->run(problem, core::Config::parse("algorithm=foo"), a.data(), b.data()), core::Error);
    EXPECT_THROW(team[0]->run(problem, core::Config::parse("algorithm=ring,channels=4"), a.data(), b.data()), core::Error);
    EXPECT_THROW(Communicator::make_local(0, quiet()), core::Error);
}

TEST(CommunicatorTest, PreparedCallsRunLikeOthers) {
    auto team = Communicator::make_local(2, quiet());
    const auto thrown = on_threads(2, [&](int rank) {
        Communicator& own = *team[static_cast<std::size_t>(rank)];
        const Problem problem = problem_of(Collective::all_reduce, 5);
        const PreparedCall call = own.prepare(problem, own.choice(problem).config);
        for (int i = 0; i < 20; ++i) {
            std::vector<float> input(5, 1), output(5);
            own.run(call, input.data(), output.data());
            EXPECT_EQ(output, std::vector<float>(5, 2));
        }
        EXPECT_EQ(own.statistics().forced, 20U);
    });
    EXPECT_EQ(thrown, std::vector<std::string>(2));
}

TEST(CommunicatorTest, StatisticsCountByMatchAndKeepTheThreeCostliestDefaults) {
    CommunicatorOptions options = quiet();
    options.log = core::Log(core::LogLevel::info, "test", [](std::string_view) {});
    auto team = Communicator::make_local(1, options);
    std::vector<float> a(100'000), b(100'000);
    for (const std::uint64_t count : {1, 10, 100, 100'000})
        for (int i = 0; i < 3; ++i)
            team[0]->run(problem_of(Collective::all_reduce, count), a.data(), b.data());
    const CallStatistics statistics = team[0]->statistics();
    EXPECT_EQ(statistics.calls, 12U);
    EXPECT_EQ(statistics.none, 12U);
    ASSERT_EQ(statistics.costliest_on_default.size(), 3U);
    EXPECT_EQ(statistics.costliest_on_default[0].calls, 3U);
    EXPECT_GT(statistics.costliest_on_default[0].total_us, 0);
    for (int i = 0; i < 2; ++i)
        EXPECT_GE(statistics.costliest_on_default[static_cast<std::size_t>(i)].total_us,
                  statistics.costliest_on_default[static_cast<std::size_t>(i) + 1].total_us);
}

struct CollectingSink final : core::TraceSink {
    void record(const core::TraceEvent& event) override {
        lines.push_back(std::string(event.name) + " " + std::to_string(event.bytes) + " " + std::string(event.detail));
    }
    std::vector<std::string> lines;
};

TEST(CommunicatorTest, TheTraceGetsOneEventPerCall) {
    CollectingSink sink;
    CommunicatorOptions options = quiet();
    options.trace = &sink;
    auto team = Communicator::make_local(1, options);
    std::vector<float> a(8), b(8);
    team[0]->run(problem_of(Collective::all_reduce, 8), a.data(), b.data());
    team[0]->run(problem_of(Collective::barrier, 0), nullptr, nullptr);
    ASSERT_EQ(sink.lines.size(), 2U);
    EXPECT_TRUE(contains(sink.lines[0], "all_reduce 32 algorithm=")) << sink.lines[0];
    EXPECT_TRUE(contains(sink.lines[1], "barrier 0 algorithm=")) << sink.lines[1];
}

TEST(CommunicatorTest, EveryNumberOfChannelsRuns) {
    auto team = Communicator::make_local(2, quiet());
    const auto thrown = on_threads(2, [&](int rank) {
        Communicator& own = *team[static_cast<std::size_t>(rank)];
        for (const char* config : {"algorithm=ring,channels=3", "algorithm=ring,channels=4"}) {
            std::vector<float> input(997, 1), output(997);
            own.run(problem_of(Collective::all_reduce, 997), core::Config::parse(config), input.data(), output.data());
            EXPECT_EQ(output, std::vector<float>(997, 2));
        }
    });
    EXPECT_EQ(thrown, std::vector<std::string>(2));
}

// Rank 0 only sends in its broadcast and rank 1 makes no call: the message in the lane is all that tells.
TEST(CommunicatorTest, AMessageThatNobodyReadIsToldAtTheEnd) {
    std::vector<std::string> lines;
    CommunicatorOptions options = quiet();
    options.log = core::Log(core::LogLevel::warn, "test", [&](std::string_view line) { lines.emplace_back(line); });
    auto team = Communicator::make_local(2, options);
    float value = 1;
    Problem broadcast = problem_of(Collective::broadcast, 1);
    broadcast.in_place = true;
    team[0]->run(broadcast, &value, &value);
    team[1].reset();
    team[0].reset();
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_TRUE(contains(lines[0], "rank 1 left with a message of rank 0 unread")) << lines[0];
    EXPECT_TRUE(contains(lines[0], "call 1 'broadcast 1 float32 root 0 in place")) << lines[0];
}

// Calls 1 differ unnoticed; call 5 uses the same lanes and is the same on both ranks.
TEST(CommunicatorTest, AMessageLeftOverFromAnEarlierCallDoesNotBlameTheLaterOnes) {
    auto team = Communicator::make_local(2, quiet());
    Problem broadcast = problem_of(Collective::broadcast, 1);
    broadcast.in_place = true;
    Problem from_one = broadcast;
    from_one.root = 1;
    float value = 1;
    team[0]->run(broadcast, &value, &value);
    team[1]->run(from_one, &value, &value);
    const auto thrown = on_threads(2, [&](int rank) {
        Communicator& own = *team[static_cast<std::size_t>(rank)];
        float input = 1, output = 0;
        for (int call = 0; call < 4; ++call)
            own.run(problem_of(Collective::all_reduce, 1), &input, &output);
    });
    for (const std::string& error : thrown) {
        EXPECT_TRUE(contains(error, "left over from an earlier call")) << error;
        EXPECT_TRUE(contains(error, "ATTUNE_CHECK=1")) << error;
    }
}

}  // namespace
}  // namespace attune::collectives
