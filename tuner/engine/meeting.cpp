#include "tuner/engine/meeting.hpp"

#include <algorithm>
#include <string>

namespace attune::tuner::engine {

namespace {

// Longer than a cache line needs to reach every rank (0.7 us between distant caches), so that nobody hears of the start too late.
constexpr std::int64_t start_delay_ns = 2000;

}  // namespace

void Meeting::check_life(std::uint64_t spins) {
    if (area_.common().failed.value.load(std::memory_order_acquire) != 0) {
        throw core::Error(core::ErrorCode::failure, "another rank of the arena has given up");
    }
    const std::int64_t now = core::now_ns();
    if (spins < check_interval) waiting_since_ns_ = now;
    if (timeout_ns_ > 0 && now - waiting_since_ns_ > timeout_ns_) {
        throw core::Error(core::ErrorCode::failure, "rank " + std::to_string(rank_) + " waited " + std::to_string(timeout_ns_ / 1'000'000) +
                                                        " ms for the other ranks of the arena; raise --timeout if they are only slow");
    }
}

void Meeting::barrier() {
    ++epoch_;
    // Release pairs with the acquire below: what a rank wrote before the barrier is seen after it.
    area_.lines(rank_).arrived.value.store(epoch_, std::memory_order_release);
    for (int peer = 0; peer < size(); ++peer) {
        const auto& arrived = area_.lines(peer).arrived.value;
        wait([&] { return arrived.load(std::memory_order_acquire) >= epoch_; });
    }
}

std::int64_t Meeting::common_start() {
    if (oversubscribed_ || size() == 1) {
        barrier();
        return core::now_ns();
    }
    ++epoch_;
    area_.lines(rank_).arrived.value.store(epoch_, std::memory_order_release);
    auto& start = area_.common().start_ns.value;
    if (rank_ == 0) {
        for (int peer = 1; peer < size(); ++peer) {
            const auto& arrived = area_.lines(peer).arrived.value;
            wait([&] { return arrived.load(std::memory_order_acquire) >= epoch_; });
        }
        const std::uint64_t next = std::max(static_cast<std::uint64_t>(core::now_ns() + start_delay_ns), last_start_ns_ + 1);
        start.store(next, std::memory_order_release);
    }
    wait([&] { return start.load(std::memory_order_acquire) > last_start_ns_; });
    last_start_ns_ = start.load(std::memory_order_acquire);
    std::int64_t now = core::now_ns();
    while (now < static_cast<std::int64_t>(last_start_ns_)) {
        pause_cpu();
        now = core::now_ns();
    }
    return now;
}

}  // namespace attune::tuner::engine
