// Times the problems of a sweep one after the other and says of each what ran and how long it took, or why it could not run.
#pragma once

#include "apps/tools/bench/machine.hpp"
#include "apps/tools/bench/problems.hpp"
#include "apps/tools/bench/teams.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace attune::tools::bench {

struct Times {
    double median_us = 0, low_us = 0, high_us = 0;  // 95 % interval of the median
    double minimum_us = 0, p95_us = 0, p99_us = 0;
    std::uint64_t iterations = 0;
};

// One problem in one form. Without times, `reason` says why.
struct Cell {
    collectives::Problem problem;
    collectives::Choice choice;  // config is the effective one
    std::optional<Times> times;
    std::uint64_t batch = 1;
    std::optional<std::uint64_t> wrong;  // when checked
    std::string placement;               // empty without times
    std::optional<double> limit_us;      // a copy of as many bytes, by every rank at once; nothing for no bytes
    std::vector<double> rank_us;         // with --per-rank: each rank's median time inside the call
    double round_trip_ns = 0;
    std::string reason;
    bool failed = false;  // the call failed or hung, as opposed to "does not apply"
    double messages = 1;  // of this size that move in the time, side by side: patterns of send_recv
    std::string shape;    // amounts of the _v forms, pattern of send_recv; empty for the others

    // GB/s = 1e9 bytes per second, of all messages. Nothing for a barrier or without times.
    std::optional<double> algorithm_bandwidth() const;
    // Of one message, times the collective's factor: what a link would have to carry (nccl-tests, PERFORMANCE.md).
    std::optional<double> bus_bandwidth() const;
    // Messages per second of send_recv.
    std::optional<double> message_rate() const;
};

// One line of the table: the same problem out of place, in place or both, as asked for.
struct Line {
    std::vector<Cell> cells;
};

struct SweepContext {
    const Options& options;
    const Machine& machine;
    Teams& teams;
    std::function<bool()> interrupted;  // may be empty
};

// Time of the timed iterations of one cell when their number is not given: less for each when there are many.
double row_time_ns(std::size_t cells) noexcept;
// Calls `done` after each line. Throws core::Error(interrupted) when interrupted.
void sweep(const SweepContext& context, int ranks, const std::function<void(const Line&)>& done);

struct Totals {
    std::uint64_t measured = 0, checked = 0, wrong = 0, failed = 0;
    std::string last_reason;
    std::string first_failure;
    double bus_sum = 0;
    std::uint64_t bus_count = 0;

    void add(const Line& line);
    std::optional<double> average_bus_bandwidth() const;
    // 4 when data were wrong, 1 when a call failed, else 0. Throws core::Error(usage) with the reason when nothing applied.
    int exit_code() const;
};

}  // namespace attune::tools::bench
