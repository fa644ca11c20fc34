// Where the time of ranks goes, what calls cost, and which ranks come late, from their traces.
#pragma once

#include "profiler/trace_file.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace attune::profiler {

struct RankTime {
    int rank = 0;                                      // of the job
    std::uint64_t calls = 0;                           // the user's
    std::int64_t span_ns = 0;                          // from its first event to its last
    std::array<std::int64_t, core::trace_kinds> ns{};  // by TraceKind; `call` is the time inside calls, which may overlap
    std::uint64_t bytes_moved = 0;                     // of transfers and reductions
    std::uint64_t events = 0;
    std::int64_t clock_error_ns = 0;  // its moments may be so far off those of rank 0
    std::string ends_early;           // why its last events may be missing; empty when none is
};
std::vector<RankTime> times_of(std::span<const RankTrace> traces);

// Calls of one text ("all_reduce 1024 float32 sum", without the configuration) over all ranks and communicators.
struct CallTime {
    std::string text;
    std::string config;       // of the first such call
    std::uint64_t calls = 0;  // of the rank that made most
    std::uint64_t bytes = 0;
    std::int64_t median_ns = 0, longest_ns = 0;  // of one rank's call
    std::int64_t total_ns = 0;                   // of all calls of all ranks
};
// The costliest first.
std::vector<CallTime> calls_of(std::span<const RankTrace> traces);

struct LateRank {
    int rank = 0;                                            // of the job
    std::uint64_t calls = 0;                                 // that all ranks made and that are in the traces
    std::uint64_t late = 0;                                  // of them those it came late to
    std::int64_t median_delay_ns = 0, longest_delay_ns = 0;  // of the late ones
};
// A rank is late to a call when it starts it after the median of the others by more than 50 us, more than the clocks of nodes may be apart, and far more
// than the delays of ranks usually vary from call to call. Left out are ranks late to fewer than two calls, or than a tenth of those that the latest one
// is late to. The one late most often first.
std::vector<LateRank> late_ranks(std::span<const RankTrace> traces);

}  // namespace attune::profiler
