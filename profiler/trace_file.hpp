// Reads the step traces of ranks (libcore/trace_format.hpp) into events on one clock.
#pragma once

#include "libcore/trace_format.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace attune::profiler {

struct Event {
    std::int64_t begin_ns = 0, end_ns = 0;  // CLOCK_MONOTONIC of rank 0's node
    std::uint64_t bytes = 0;
    std::uint32_t call = 0;  // 0 = attune's own
    std::uint32_t text = 0;  // of a call: index into RankTrace::texts
    std::int32_t peer = -1;
    core::TraceKind kind = core::TraceKind::call;
    std::uint8_t channel = 0;
};

// Events of one communicator, in the order in which they ended.
struct TeamEvents {
    core::StepSource source;
    std::vector<Event> events;
};

struct RankTrace {
    std::string file;
    int rank = 0;  // of the job
    int process = 0;
    std::vector<std::string> texts;  // 0 is empty
    std::vector<TeamEvents> teams;
    std::uint64_t records = 0;
    std::int64_t clock_error_ns = 0;  // its moments may be so far off those of rank 0
    std::string ends_early;           // why its last events may be missing; empty when none is
};

// `bytes` are a whole file. What a killed process recorded is read as far as it goes. Throws Error(check_failed), naming the file, when they are no
// trace, one of another version, or damaged.
RankTrace parse_trace(std::span<const std::byte> bytes, const std::string& file);
// Reads it first; throws Error(not_found) when there is none.
RankTrace read_trace(const std::string& file);

}  // namespace attune::profiler
