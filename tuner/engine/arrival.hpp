// When ranks arrive at a call, for measurements of skewed arrival.
#pragma once

#include "tuner/arena.hpp"

#include <cstdint>

namespace attune::tuner::engine {

struct Arrival {
    Skew skew = Skew::none;
    std::int64_t latest_ns = 0;
    std::uint64_t seed = 1;

    // Nanoseconds after the common start, 0 .. latest_ns; the same for the same arguments. `one_late` takes the ranks in turns.
    std::int64_t after_ns(std::uint64_t iteration, int rank, int ranks) const noexcept;
};

}  // namespace attune::tuner::engine
