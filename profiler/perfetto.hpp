// Traces as JSON that Perfetto and chrome://tracing open: a process per rank, a track per channel, calls above their steps.
#pragma once

#include "profiler/trace_file.hpp"

#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace attune::profiler {

// Times are microseconds since the first event of all ranks.
std::string perfetto_json(std::span<const RankTrace> traces);
// The same in pieces of about 1 MiB.
void write_perfetto(std::span<const RankTrace> traces, const std::function<void(std::string_view)>& write);

}  // namespace attune::profiler
