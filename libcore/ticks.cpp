#include "libcore/ticks.hpp"

#include <limits>

namespace attune::core {

// Of several tries the one that nothing interrupted: the counter moved least around it.
ClockPair read_clocks() noexcept {
    ClockPair best;
    std::uint64_t narrowest = std::numeric_limits<std::uint64_t>::max();
    for (int attempt = 0; attempt < 10; ++attempt) {
        const std::uint64_t before = ticks();
        const std::int64_t ns = now_ns();
        const std::uint64_t gap = ticks() - before;
        if (gap >= narrowest) continue;
        narrowest = gap;
        best = {before + gap / 2, ns};
    }
    return best;
}

}  // namespace attune::core
