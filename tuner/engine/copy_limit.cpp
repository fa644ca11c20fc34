// A copy of as many bytes as a collective's vector has: no algorithm that must write them can be faster.
#include "libcore/buffers.hpp"
#include "libcore/clock.hpp"
#include "tuner/engine/rank_engine.hpp"

#include <algorithm>
#include <cstring>

namespace attune::tuner::engine {

namespace {

constexpr std::uint64_t window_bytes = std::uint64_t{64} << 20;  // longer vectors are copied through one window, larger than most caches
constexpr std::uint64_t batch_bytes = std::uint64_t{1} << 20;    // an iteration copies at least this much
constexpr std::uint64_t batch_limit = 2048;
constexpr std::uint64_t iterations = 9;

// The compiler must not see that nobody reads the copy.
void keep(const void* memory) noexcept {
    asm volatile("" : : "r"(memory) : "memory");
}

void copy(core::Buffer& to, const core::Buffer& from, std::uint64_t bytes) noexcept {
    for (std::uint64_t done = 0; done < bytes; done += from.size()) {
        std::memcpy(to.data(), from.data(), std::min<std::uint64_t>(from.size(), bytes - done));
        keep(to.data());
    }
}

}  // namespace

void copy_limit(Meeting& meeting, std::uint64_t bytes, Reply& reply) {
    if (bytes == 0) return;
    core::Buffer from(std::min(bytes, window_bytes));
    core::Buffer to(from.size());
    std::memset(from.data(), 1, from.size());  // not all one zero page
    reply.calls = std::clamp<std::uint64_t>(batch_bytes / bytes, 1, batch_limit);
    reply.rows = iterations;
    copy(to, from, bytes);
    for (std::uint64_t row = 0; row < iterations; ++row) {
        meeting.area().starts(meeting.rank())[row] = meeting.common_start();
        for (std::uint64_t call = 0; call < reply.calls; ++call)
            copy(to, from, bytes);
        meeting.area().ends(meeting.rank())[row] = core::now_ns();
    }
}

}  // namespace attune::tuner::engine
