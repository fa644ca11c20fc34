// Search of one problem: floor blocks, then what the strategy asks for, until it is done or the time is up.
#pragma once

#include "tuner/session_trials.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace attune::tuner {

struct SearchOutcome {
    collectives::Problem problem;
    core::Config default_config;
    core::Config winner;     // equal to the default when nothing looked better
    double gain = 1;         // of the winner in its worst placement class, as searched
    bool promising = false;  // worth a re-test
    bool complete = false;
    bool measured = false;      // a candidate was compared at all
    std::int64_t block_ns = 0;  // median wall time of a block, 0 when there was none
};

struct SearchHooks {
    std::int64_t deadline_ns = 0;  // clock time; no block starts later
    std::function<void(std::size_t tried, std::size_t candidates, double best_gain)> report;
};

// Replays what this run already measured, then goes on. The same journal and budget give the same next question.
SearchOutcome search_problem(const SessionTools& tools, const collectives::Problem& problem, const SearchHooks& hooks);

}  // namespace attune::tuner
