// Cache-line round trips between ring neighbours: where the hypervisor has put our cores right now.
#include "libcore/clock.hpp"
#include "libcore/samples.hpp"
#include "tuner/engine/rank_engine.hpp"

#include <algorithm>
#include <vector>

namespace attune::tuner::engine {

namespace {

constexpr std::uint64_t round_trips = 200;  // per pair, about 0.1 ms at the slowest placement seen (0.7 us)

// `first` and `second` alternate on their own `result` lines, which only these two touch. Returns the median on `first`.
double first_side(Meeting& meeting, int first, int second) {
    auto& mine = meeting.area().lines(first).result.value;
    const auto& other = meeting.area().lines(second).result.value;
    std::vector<double> times;
    for (std::uint64_t turn = 1; turn <= round_trips; ++turn) {
        const std::int64_t start = core::now_ns();
        mine.store(turn, std::memory_order_release);
        meeting.wait([&] { return other.load(std::memory_order_acquire) >= turn; });
        times.push_back(static_cast<double>(core::now_ns() - start));
    }
    return core::median(times);
}

void second_side(Meeting& meeting, int first, int second) {
    const auto& other = meeting.area().lines(first).result.value;
    auto& mine = meeting.area().lines(second).result.value;
    for (std::uint64_t turn = 1; turn <= round_trips; ++turn) {
        meeting.wait([&] { return other.load(std::memory_order_acquire) >= turn; });
        mine.store(turn, std::memory_order_release);
    }
}

}  // namespace

void ping(Meeting& meeting, Reply& reply) {
    const int size = meeting.size();
    if (size == 1 || meeting.oversubscribed()) return;
    const int pairs = size == 2 ? 1 : size;
    for (int first = 0; first < pairs; ++first) {
        const int second = (first + 1) % size;
        meeting.area().lines(meeting.rank()).result.value.store(0, std::memory_order_relaxed);
        meeting.barrier();
        if (meeting.rank() == first) reply.round_trip_ns = std::max(reply.round_trip_ns, first_side(meeting, first, second));
        if (meeting.rank() == second) second_side(meeting, first, second);
        meeting.barrier();
    }
}

}  // namespace attune::tuner::engine
