// The executor over threads: every algorithm bit-equal to the reference walk, in flight together, disturbed, in tiny windows.
#include "collectives/executor.hpp"

#include "tests/support/executor_cases.hpp"

#include <gtest/gtest.h>

#include <random>
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

}  // namespace
}  // namespace attune::collectives
