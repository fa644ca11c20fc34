#include "profiler/attendance.hpp"

#include "tests/support/expect_error.hpp"

#include <gtest/gtest.h>

namespace attune::profiler {
namespace {

RankTrace trace_of(int rank, int process, std::vector<core::StepSource> teams) {
    RankTrace trace;
    trace.file = "rank-" + std::to_string(rank) + "-" + std::to_string(process);
    trace.rank = rank;
    trace.process = process;
    for (const core::StepSource& source : teams)
        trace.teams.push_back({source, {}});
    return trace;
}

TEST(Attendance, NamesTheRanksOfTheLargestCommunicatorWithoutATrace) {
    EXPECT_TRUE(missing_ranks({}).empty());
    const std::vector<RankTrace> traces = {trace_of(0, 10, {{7, 0, 4}, {8, 1, 2}}), trace_of(2, 12, {{7, 2, 4}, {8, 0, 2}})};
    EXPECT_EQ(missing_ranks(traces), (std::vector<int>{1, 3}));
    const std::vector<RankTrace> whole = {trace_of(0, 10, {{7, 0, 2}}), trace_of(1, 11, {{9, 0, 1}, {7, 1, 2}})};
    EXPECT_TRUE(missing_ranks(whole).empty());
}

TEST(Attendance, RefusesARankThatComesTwice) {
    const RankTrace first = trace_of(0, 10, {{7, 0, 2}}), later = trace_of(0, 10, {{8, 0, 2}}), other = trace_of(1, 11, {{7, 1, 2}});
    require_one_job(std::vector{first, later, other});
    tests::expect_error(core::ErrorCode::usage, "give each trace once", [&] { require_one_job(std::vector{first, other, first}); });
    tests::expect_error(core::ErrorCode::usage, "of two jobs: rank 0 is process 10 in one and 20", [&] {
        require_one_job(std::vector{first, trace_of(0, 20, {{9, 0, 2}})});
    });
}

}  // namespace
}  // namespace attune::profiler
