// Tuning inside a running job: the ranks of a communicator measure candidates themselves and keep one that is proven faster there.
#pragma once

#include "collectives/communicator.hpp"
#include "libcore/clock.hpp"
#include "tuner/arena.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace attune::tuner {

struct LiveTuneOptions {
    std::int64_t budget_ns = 10'000'000'000;
    double minimum_gain = 0.02;       // a gain must exceed 1 + max(noise floor, this)
    double significance = 0.01;       // of the one-sided sign test over the blocks of the proof
    std::size_t minimum_blocks = 15;  // of the proof; fewer prove nothing
};

struct LiveTuneResult {
    core::Config config, baseline;  // the fastest found, and what it was compared with
    bool proven = false;
    double gain = 1, low = 1, high = 1;  // baseline / config: median of the proof's block ratios, 99 % interval
    double floor = 0;                    // noise of this machine: baseline against itself
    std::uint64_t candidates = 0, measured = 0, blocks = 0;
    double seconds = 0;
    std::string reason;  // why nothing is proven
};

// Rank 0's part, over any arena: `configs.front()` is the baseline. Half of the budget searches; the winner is then compared anew, a number of blocks
// that is fixed before, with as many of the baseline against itself, in alternation. Proven as rows of a release are, but in one launch.
LiveTuneResult search_and_prove(Arena& arena, const Work& work, core::Clock& clock, const LiveTuneOptions& options);

// Collective. Measures on a copy of the communicator, so that a candidate that fails leaves this one untouched; what is proven is applied to this one
// on all ranks. The baseline is what the call uses now. Throws Error(failure) on every rank when ranks fail or are on several machines.
LiveTuneResult tune_live(collectives::Communicator& team, const collectives::Problem& problem, const LiveTuneOptions& options);

}  // namespace attune::tuner
