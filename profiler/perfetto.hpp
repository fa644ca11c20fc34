// Traces as JSON that Perfetto and chrome://tracing open: a process per rank, a track per channel, calls above their steps.
#pragma once

#include "profiler/trace_file.hpp"

#include <span>
#include <string>

namespace attune::profiler {

// Times are microseconds since the first event of all ranks.
std::string perfetto_json(std::span<const RankTrace> traces);

}  // namespace attune::profiler
