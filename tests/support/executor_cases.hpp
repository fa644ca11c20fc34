// Calls with their expected results, for running on any transport and comparing bit by bit with the reference walk.
#pragma once

#include "collectives/catalogue.hpp"
#include "collectives/executor.hpp"
#include "tests/support/reference_walk.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace attune::test {

struct ExecutorCase {
    std::string name;
    collectives::Problem problem;
    std::vector<collectives::Schedule> schedules;  // by rank
    std::vector<UserBuffers> before, after;        // by rank
};

// Inputs are random bits of the dtype with NaNs, zeros of both signs and infinities among them; the expected buffers come from the walk.
ExecutorCase make_case(const collectives::Problem& problem, const collectives::Algorithm& algorithm, const collectives::Cut& cut, std::uint32_t seed);

struct CaseRange {
    int ranks = 1;
    std::vector<std::uint64_t> counts;
    std::vector<collectives::Cut> cuts;
};
// Every algorithm of the catalogue that its constraints allow, in and out of place, all counts and cuts; dtype, operator and root alternate.
std::vector<ExecutorCase> make_cases(const CaseRange& range);

struct RunOptions {
    collectives::CompileOptions compile;
    int in_flight = 1;                      // calls started before the oldest is waited for
    std::function<void()> between = [] {};  // runs before every start and wait
};

// One rank's part of all cases on one executor. Empty when every result has the expected bits, else the first difference.
std::string run_cases(collectives::Transport& transport, std::span<const ExecutorCase> cases, const RunOptions& options);

// All ranks as threads over local transports. Empty, or the first rank's difference.
std::string run_cases_on_threads(std::span<const ExecutorCase> cases, const collectives::TransportOptions& lanes, const RunOptions& options);

}  // namespace attune::test
