// Every collective, dtype, operator and form of buffers through a communicator, against sums written down directly.
#pragma once

#include "collectives/communicator.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace attune::test {

struct Case {
    collectives::Problem problem;  // ranks of the communicator; with amounts of all of them
    std::string text() const;
};

// All collectives x dtypes x operators x in place or not x counts, roots first and last.
std::vector<Case> cases_for(int ranks, std::span<const std::uint64_t> counts);

// Runs the case with the communicator's choice, or with `config` when it is not empty. Empty = right on this rank, else what differs.
std::string run_case(collectives::Communicator& communicator, const Case& one, const core::Config& config = {});
// The first failure of many, or empty.
std::string run_cases(collectives::Communicator& communicator, std::span<const std::uint64_t> counts);

// Hash of this rank's results on inputs whose float sums round: equal on every transport, bit for bit.
std::uint64_t hash_of_rounding_results(collectives::Communicator& communicator);

// Runs the body on one thread per rank; what a body throws is returned by rank (empty = nothing).
std::vector<std::string> on_threads(int ranks, const std::function<void(int)>& body);

}  // namespace attune::test
