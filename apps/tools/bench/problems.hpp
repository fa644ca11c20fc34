// The problems of a sweep: collectives x types x operators x roots x sizes, each once.
#pragma once

#include "apps/tools/bench/options.hpp"
#include "collectives/problem.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attune::tools::bench {

std::vector<collectives::Collective> collectives_of(const Options& options);
// Out of place, for `ranks` ranks, in the order of the table; those with amounts hold the amounts of all ranks. Sizes are total bytes of the larger buffer,
// rounded down to whole elements (and, where it holds a block for each rank, ranks); sizes that become equal are kept once. Throws core::Error(usage) for
// wrong words and roots.
std::vector<collectives::Problem> problems_of(const Options& options, int ranks);
// Which forms of a problem are measured: out of place (false), in place (true), or both. Collectives without an in-place form have one.
std::vector<bool> forms_of(const Options& options, const collectives::Problem& problem);
bool has_in_place_form(collectives::Collective collective) noexcept;

bool is_v_form(collectives::Collective collective);
// `shape` with `count` elements, of _v forms `count` in all blocks, and with the amounts and partners of the options.
collectives::Problem with_traffic(const Options& options, collectives::Problem shape, std::uint64_t count);

// Amounts of the _v forms, pattern of send_recv; empty for the others.
std::string shape_of(const Options& options, collectives::Collective collective);
// Messages that a pattern of send_recv moves side by side: both directions, or all pairs; 1 where each is timed by itself.
double messages_of(const Options& options, const collectives::Problem& problem);

// Bytes and elements as the table shows them: the larger buffer of one rank, of the _v forms the total of all blocks; the elements of one block, of the _v
// forms of all.
std::uint64_t bytes_of(const collectives::Problem& problem);
std::uint64_t count_of(const collectives::Problem& problem);

// GB/s = 1e9 bytes per second. Nothing for a barrier.
std::optional<double> algorithm_bandwidth(const collectives::Problem& problem, double us);
// What a link would have to carry for one byte of the algorithm's bandwidth (nccl-tests, PERFORMANCE.md).
double bus_factor(const collectives::Problem& problem);
// Algorithm bandwidth times that factor.
std::optional<double> bus_bandwidth(const collectives::Problem& problem, double us);

}  // namespace attune::tools::bench
