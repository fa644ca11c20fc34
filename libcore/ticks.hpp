// The cheapest clock of this CPU, for events of a few nanoseconds; who reads them turns ticks into nanoseconds with two moments seen on both clocks.
#pragma once

#include "libcore/clock.hpp"

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace attune::core {

// Whether this CPU's time-stamp counter has a constant rate, also when its clock speed changes or it sleeps.
extern const bool counter_is_steady;

// Counts at a constant rate (the time-stamp counter; where there is none, nanoseconds).
inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
    if (counter_is_steady) return __rdtsc();
#endif
    return static_cast<std::uint64_t>(now_ns());
}

// One moment on both clocks.
struct ClockPair {
    std::uint64_t ticks = 0;
    std::int64_t ns = 0;
};
ClockPair read_clocks() noexcept;

}  // namespace attune::core
