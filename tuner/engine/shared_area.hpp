// The one shared memfd of an arena: barrier lines, samples of every rank, the text of the loaded work. Mapped by the ranks and the driver.
#pragma once

#include "tuner/engine/command.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace attune::tuner::engine {

// Own cache line, and its neighbour, which the adjacent-line prefetcher would fetch with it. Counters only grow.
struct alignas(128) Line {
    std::atomic<std::uint64_t> value{0};
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// Written by one rank, read by others.
struct RankLines {
    Line ready;    // 1 when the rank's communicator is up
    Line arrived;  // barrier
    Line done;     // calls of a batch this rank has finished; token of a ping
    Line go;       // batches, measured empty: this rank is ready for the next round
    Line entered;  // barrier checks: rounds this rank has entered
    Line digest;   // of the output, for equality across ranks
    Line result;   // round trip of the pair (rank, rank + 1), ns
};

struct CommonLines {
    Line failed;    // a rank has given up: nobody waits any longer
    Line start_ns;  // agreed start of the next iteration, strictly growing
    Line batch;     // agreed by rank 0
    Line token;     // batches, measured empty: the root's go
};

class SharedArea {
public:
    static constexpr std::size_t row_capacity = 4096;  // iterations of one sample command
    static constexpr std::size_t text_capacity = std::size_t{1} << 20;

    static SharedArea create(int ranks);                  // throws Error(failure)
    static SharedArea attach(int descriptor, int ranks);  // maps a duplicate; the descriptor stays the caller's
    ~SharedArea();
    SharedArea(SharedArea&& other) noexcept;
    SharedArea& operator=(SharedArea&&) = delete;

    int ranks() const noexcept { return ranks_; }
    int descriptor() const noexcept { return descriptor_; }  // of create(), else -1
    CommonLines& common() noexcept;
    RankLines& lines(int rank) noexcept;
    std::span<std::int64_t> starts(int rank) noexcept;  // row_capacity values, ns
    std::span<std::int64_t> ends(int rank) noexcept;
    void write_text(std::string_view text);  // throws Error(failure) above text_capacity
    std::string_view text(std::size_t bytes) const noexcept;

private:
    SharedArea(int descriptor, std::byte* memory, int ranks) : descriptor_(descriptor), memory_(memory), ranks_(ranks) {}
    static std::size_t total_bytes(int ranks) noexcept;

    int descriptor_ = -1;
    std::byte* memory_ = nullptr;
    int ranks_ = 0;
};

}  // namespace attune::tuner::engine
