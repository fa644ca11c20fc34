#include "libcore/ticks.hpp"

#include <limits>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace attune::core {

namespace {

// "Invariant TSC": bit 8 of EDX of leaf 0x80000007 (Intel SDM 3, 18.17.1; AMD64 manual 3, E.4.5).
bool ask_cpu() noexcept {
#if defined(__x86_64__)
    unsigned int a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & (1U << 8)) != 0;
#else
    return false;
#endif
}

}  // namespace

const bool counter_is_steady = ask_cpu();

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
