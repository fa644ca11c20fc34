// Whether traces are those of one job, and of which ranks there is none.
#pragma once

#include "profiler/trace_file.hpp"

#include <span>
#include <vector>

namespace attune::profiler {

// Throws Error(usage), naming the two files, when a rank comes twice: in processes of different jobs, or with the same communicator.
void require_one_job(std::span<const RankTrace> traces);

// Ranks of the largest communicator without a trace, ascending. A rank that died before its first call leaves none either.
std::vector<int> missing_ranks(std::span<const RankTrace> traces);

}  // namespace attune::profiler
