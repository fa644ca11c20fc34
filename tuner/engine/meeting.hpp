// Where the ranks of an arena meet outside the collectives they measure: barrier and common start, in the shared area.
#pragma once

#include "libcore/clock.hpp"
#include "libcore/error.hpp"
#include "tuner/engine/shared_area.hpp"

#include <cstdint>

#include <sched.h>

namespace attune::tuner::engine {

inline void pause_cpu() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

// One rank's view; all ranks call the same functions in the same order. With more ranks than CPUs every wait yields at once.
class Meeting {
public:
    Meeting(SharedArea& area, int rank, bool oversubscribed, std::int64_t timeout_ns)
        : area_(area), rank_(rank), oversubscribed_(oversubscribed), timeout_ns_(timeout_ns) {}

    SharedArea& area() noexcept { return area_; }
    int rank() const noexcept { return rank_; }
    int size() const noexcept { return area_.ranks(); }
    bool oversubscribed() const noexcept { return oversubscribed_; }

    void barrier();
    // Barrier, then all ranks leave at one agreed time (within clock resolution). Returns the time this rank really left, ns. Oversubscribed ranks
    // leave as the scheduler lets them: there is no processor to wait on.
    std::int64_t common_start();

    // Waits until `condition()`; throws Error(failure) when another rank has given up or the timeout passes.
    template <class Condition>
    void wait(Condition condition) {
        for (std::uint64_t spins = 0; !condition(); ++spins) {
            if (oversubscribed_ || spins > spin_limit) {
                sched_yield();
            } else {
                pause_cpu();
            }
            if (spins % check_interval == check_interval - 1) check_life(spins);
        }
    }
    // Nobody waits for this rank any longer.
    void give_up() noexcept { area_.common().failed.value.store(1, std::memory_order_release); }

private:
    static constexpr std::uint64_t spin_limit = 20000;  // pauses before yielding, about a millisecond
    static constexpr std::uint64_t check_interval = 1024;
    void check_life(std::uint64_t spins);

    SharedArea& area_;
    int rank_;
    bool oversubscribed_;
    std::int64_t timeout_ns_;
    std::int64_t waiting_since_ns_ = 0;
    std::uint64_t epoch_ = 0;
    std::uint64_t last_start_ns_ = 0;
};

}  // namespace attune::tuner::engine
