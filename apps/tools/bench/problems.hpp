// The problems of a sweep: collectives x types x operators x roots x sizes, each once.
#pragma once

#include "apps/tools/bench/options.hpp"
#include "collectives/problem.hpp"

#include <optional>
#include <vector>

namespace attune::tools::bench {

std::vector<collectives::Collective> collectives_of(const Options& options);
// Out of place, for `ranks` ranks, in the order of the table. Sizes are total bytes of the larger buffer, rounded down to whole elements (and, for
// all_gather and reduce_scatter, ranks); sizes that become equal are kept once. Throws core::Error(usage) for wrong words and roots.
std::vector<collectives::Problem> problems_of(const Options& options, int ranks);
// Which forms of a problem are measured: out of place (false), in place (true), or both. A barrier has one form.
std::vector<bool> forms_of(const Options& options, const collectives::Problem& problem);

// GB/s = 1e9 bytes per second. Nothing for a barrier.
std::optional<double> algorithm_bandwidth(const collectives::Problem& problem, double us);
// times the collective's factor: what a link would have to carry (nccl-tests, PERFORMANCE.md).
std::optional<double> bus_bandwidth(const collectives::Problem& problem, double us);

}  // namespace attune::tools::bench
