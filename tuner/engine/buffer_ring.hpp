// One rank's buffers of a problem: a pair of guarded buffers, or a ring of pairs larger than the caches.
#pragma once

#include "collectives/problem.hpp"
#include "libcore/buffers.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace attune::tuner::engine {

// Hot buffers exist from the start; the ring is made at its first use. All memory is written once, so no two pages are one zero page.
class BufferRing {
public:
    // `problem` may be one of all ranks.
    BufferRing(const collectives::Problem& problem, int rank, std::uint64_t cache_bytes);

    // In place both are the start of the larger buffer, as Communicator wants it.
    const std::byte* input() const noexcept { return in_place_ ? output_.data() : input_.data(); }
    std::byte* output() noexcept { return output_.data(); }
    core::Buffer& input_buffer() noexcept { return in_place_ ? output_ : input_; }
    core::Buffer& output_buffer() noexcept { return output_; }
    // What this rank contributes and gets, wherever it lies; empty when that is nothing.
    std::span<std::byte> own_input() noexcept { return input_buffer().span().subspan(own_input_offset_, own_input_bytes_); }
    std::span<std::byte> own_output() noexcept { return output_.span().subspan(own_output_offset_, own_output_bytes_); }

    struct Pair {
        std::byte* input = nullptr;
        std::byte* output = nullptr;
        std::byte* touched = nullptr;  // first element of this rank's input; null when there is none
    };
    void make_ring();
    Pair hot_pair() noexcept { return pair_at(input_buffer().data(), output_.data()); }
    // Pair number `turn` of the ring, or always the hot pair before make_ring().
    Pair pair(std::uint64_t turn) noexcept;
    std::uint64_t pairs() const noexcept { return pairs_; }

private:
    Pair pair_at(std::byte* input, std::byte* output) const noexcept { return {input, output, own_input_bytes_ == 0 ? nullptr : input + own_input_offset_}; }

    core::DType dtype_;
    bool in_place_;
    std::uint64_t cache_bytes_;
    std::size_t input_bytes_ = 0, output_bytes_ = 0;  // 0 input bytes in place
    std::size_t own_input_offset_ = 0, own_output_offset_ = 0;
    std::size_t own_input_bytes_ = 0, own_output_bytes_ = 0;
    core::Buffer input_, output_;
    core::Buffer ring_;
    std::size_t stride_ = 0;
    std::uint64_t pairs_ = 1;
};

// Writes the value 1 of the type everywhere: sums, products and minima of it stay ordinary numbers (or infinity), never denormal.
void fill_ones(std::span<std::byte> memory, core::DType dtype) noexcept;

}  // namespace attune::tuner::engine
