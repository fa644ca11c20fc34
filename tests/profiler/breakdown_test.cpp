// Where time goes, what calls cost and who is late, on traces whose answers are known.
#include "profiler/breakdown.hpp"
#include "profiler/perfetto.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace attune::profiler {
namespace {

using core::TraceKind;

constexpr std::int64_t us = 1000, ms = 1'000'000;

Event event(TraceKind kind, std::int64_t begin, std::int64_t end, std::uint32_t call = 1) {
    Event made;
    made.kind = kind;
    made.begin_ns = begin;
    made.end_ns = end;
    made.call = call;
    made.text = 1;
    made.bytes = 100;
    return made;
}

RankTrace trace_of(int rank, std::uint32_t ranks, std::vector<Event> events) {
    RankTrace trace;
    trace.rank = rank;
    trace.texts = {"", "all_reduce 25 float32 sum, algorithm=ring,segment_bytes=0"};
    trace.teams.push_back({{9, static_cast<std::uint32_t>(rank), ranks}, std::move(events)});
    return trace;
}

// `calls` calls of all ranks, one every 10 ms; `delay(rank, call)` is added to its start. A call ends 20 us after the last rank came.
template <class Delay>
std::vector<RankTrace> team(int ranks, std::uint32_t calls, Delay delay) {
    std::vector<RankTrace> traces;
    for (int rank = 0; rank < ranks; ++rank) {
        std::vector<Event> events;
        for (std::uint32_t call = 1; call <= calls; ++call) {
            const std::int64_t start = call * 10 * ms;
            std::int64_t last = 0;
            for (int other = 0; other < ranks; ++other)
                last = std::max<std::int64_t>(last, delay(other, call));
            events.push_back(event(TraceKind::call, start + delay(rank, call), start + last + 20 * us, call));
        }
        traces.push_back(trace_of(rank, static_cast<std::uint32_t>(ranks), std::move(events)));
    }
    return traces;
}

TEST(Breakdown, AddsUpTheTimesOfEachRank) {
    const std::vector<RankTrace> traces = {
        trace_of(1, 2, {event(TraceKind::wait, 0, 30), event(TraceKind::reduce, 30, 50), event(TraceKind::transfer, 50, 55), event(TraceKind::call, 0, 60)}),
        trace_of(0, 2, {event(TraceKind::post, 10, 14), event(TraceKind::call, 10, 20, 0)})};
    const auto times = times_of(traces);
    ASSERT_EQ(times.size(), 2U);
    EXPECT_EQ(times[0].rank, 0);
    EXPECT_EQ(times[0].calls, 0U);  // of attune's own
    EXPECT_EQ(times[0].ns[static_cast<std::size_t>(TraceKind::post)], 4);
    EXPECT_EQ(times[1].span_ns, 60);
    EXPECT_EQ(times[1].calls, 1U);
    EXPECT_EQ(times[1].ns[static_cast<std::size_t>(TraceKind::wait)], 30);
    EXPECT_EQ(times[1].ns[static_cast<std::size_t>(TraceKind::reduce)], 20);
    EXPECT_EQ(times[1].bytes_moved, 200U);
    EXPECT_TRUE(times[1].ends_early.empty());
}

TEST(Breakdown, GroupsCallsByWhatIsCalled) {
    const auto calls = calls_of(team(2, 5, [](int, std::uint32_t call) { return call == 5 ? 7 * us : std::int64_t{0}; }));
    ASSERT_EQ(calls.size(), 1U);
    EXPECT_EQ(calls[0].text, "all_reduce 25 float32 sum");
    EXPECT_EQ(calls[0].config, "algorithm=ring,segment_bytes=0");
    EXPECT_EQ(calls[0].calls, 5U);
    EXPECT_EQ(calls[0].median_ns, 20 * us);
    EXPECT_EQ(calls[0].total_ns, 10 * 20 * us);
}

TEST(Breakdown, OfNothingIsNothing) {
    EXPECT_TRUE(times_of({}).empty());
    EXPECT_TRUE(calls_of({}).empty());
    EXPECT_TRUE(late_ranks({}).empty());
    EXPECT_EQ(times_of(std::vector<RankTrace>{trace_of(0, 1, {})})[0].span_ns, 0);
}

TEST(LateRanks, ARankDelayedInATenthOfItsCallsIsNamedWithItsMedianDelay) {
    for (const int ranks : {2, 3, 5}) {
        const auto late = late_ranks(team(ranks, 200, [](int rank, std::uint32_t call) {
            return rank == 1 && call % 10 == 3 ? 5 * ms + call * 100 : static_cast<std::int64_t>((rank * 7919 + call * 104729) % 3000);
        }));
        ASSERT_EQ(late.size(), 1U) << ranks;
        EXPECT_EQ(late[0].rank, 1);
        EXPECT_EQ(late[0].calls, 200U);
        EXPECT_EQ(late[0].late, 20U);
        EXPECT_NEAR(static_cast<double>(late[0].median_delay_ns), 5e6, 5e5);
    }
}

TEST(LateRanks, ARankThatIsLateToEveryCallOrToHalfOfThemIsNamed) {
    for (const std::uint32_t every : {1U, 2U}) {
        const auto late = late_ranks(team(3, 100, [&](int rank, std::uint32_t call) {
            return rank == 2 && call % every == 0 ? 2 * ms : static_cast<std::int64_t>((rank * 7919 + call * 104729) % 3000);
        }));
        ASSERT_EQ(late.size(), 1U) << every;
        EXPECT_EQ(late[0].rank, 2);
        EXPECT_EQ(late[0].late, 100U / every);
        EXPECT_NEAR(static_cast<double>(late[0].median_delay_ns), 2e6, 1e5);
    }
}

TEST(LateRanks, WhoIsLateNowAndThenIsNotNamedBesideWhoAlwaysIs) {
    const auto late = late_ranks(team(3, 100, [](int rank, std::uint32_t call) {
        if (rank == 1 && call % 50 == 7) return 3 * ms;
        return rank == 2 && call % 3 == 0 ? 2 * ms : std::int64_t{0};
    }));
    ASSERT_EQ(late.size(), 1U);
    EXPECT_EQ(late[0].rank, 2);
}

TEST(LateRanks, ClocksThatAreApartMakeNobodyLate) {
    auto traces = team(2, 100, [](int rank, std::uint32_t) { return rank == 1 ? 400 * us : std::int64_t{0}; });
    EXPECT_EQ(late_ranks(traces).size(), 1U);
    traces[1].clock_error_ns = 200 * us;
    EXPECT_TRUE(late_ranks(traces).empty());
}

TEST(LateRanks, NobodyIsNamedForTheUsualSpread) {
    EXPECT_TRUE(late_ranks(team(4, 100, [](int rank, std::uint32_t call) { return static_cast<std::int64_t>((rank * 31 + call * 17) % 40) * us; })).empty());
}

TEST(LateRanks, OnlyCallsThatAllRanksMadeCount) {
    auto traces = team(3, 50, [](int rank, std::uint32_t) { return rank == 2 ? 2 * ms : std::int64_t{0}; });
    traces.pop_back();
    EXPECT_TRUE(late_ranks(traces).empty());
}

TEST(Perfetto, NamesRanksChannelsAndCallsAndEscapesTexts) {
    auto traces = team(2, 1, [](int, std::uint32_t) { return std::int64_t{0}; });
    traces[0].texts[1] = "odd \"name\", algorithm=ring";
    const std::string text = perfetto_json(traces);
    EXPECT_EQ(text.find("{\"displayTimeUnit\""), 0U);
    for (const char* part :
         {"\"rank 0 (process 0)\"", "\"channel 3\"", "\"odd \\\"name\\\"\"", "\"name\":\"all_reduce 25 float32 sum\"", "\"ts\":0.000,\"dur\":20.000"})
        EXPECT_NE(text.find(part), std::string::npos) << part << text;
    EXPECT_EQ(std::ranges::count(text, '{'), std::ranges::count(text, '}'));
    EXPECT_NE(perfetto_json({}).find("\"traceEvents\":["), std::string::npos);
}

}  // namespace
}  // namespace attune::profiler
