#include "tuner/engine/buffer_ring.hpp"

#include "collectives/amounts.hpp"
#include "tuner/engine/exact_types.hpp"

#include <algorithm>
#include <cstring>

namespace attune::tuner::engine {

namespace {

constexpr std::size_t ring_limit = std::size_t{256} << 20;  // per rank
constexpr std::size_t line_bytes = 64;
constexpr std::size_t gap_bytes = 2 * line_bytes;  // pairs are two lines apart, out of the adjacent-line prefetcher's reach

std::size_t rounded(std::size_t bytes) noexcept {
    return (bytes + line_bytes - 1) / line_bytes * line_bytes;
}

}  // namespace

void fill_ones(std::span<std::byte> memory, core::DType dtype) noexcept {
    with_type(dtype, [&]<class T>(T) {
        const T one = [] {
            if constexpr (is_float<T>)
                return encode<T>(1.0);
            else
                return T{1};
        }();
        for (std::size_t at = 0; at + sizeof(T) <= memory.size(); at += sizeof(T))
            std::memcpy(memory.data() + at, &one, sizeof(T));
    });
}

BufferRing::BufferRing(const collectives::Problem& problem, int rank, std::uint64_t cache_bytes)
    : dtype_(problem.dtype), in_place_(problem.in_place), cache_bytes_(cache_bytes) {
    const collectives::Problem view = collectives::view_of(problem, rank);
    const std::size_t element = core::size_of(dtype_);
    own_input_bytes_ = view.input_elements(rank) * element;
    own_output_bytes_ = view.output_elements(rank) * element;
    const bool may_answer = view.collective == collectives::Collective::send_recv;  // then who sent receives
    const std::size_t answer_bytes = may_answer ? view.count * element : 0;
    input_bytes_ = in_place_ ? 0 : std::max(own_input_bytes_, answer_bytes);
    output_bytes_ = in_place_ ? view.in_place_elements() * element : std::max(own_output_bytes_, answer_bytes);
    own_input_offset_ = in_place_ ? collectives::in_place_input_offset(view, rank) * element : 0;
    own_output_offset_ = in_place_ ? collectives::in_place_output_offset(view, rank) * element : 0;
    if (!in_place_) input_ = core::Buffer(input_bytes_);
    output_ = core::Buffer(output_bytes_);
    if (!in_place_) fill_ones(input_.span(), dtype_);
    fill_ones(output_.span(), dtype_);
}

void BufferRing::make_ring() {
    const std::size_t data = rounded(input_bytes_) + rounded(output_bytes_);
    if (stride_ != 0 || data == 0) return;
    const std::size_t stride = data + gap_bytes;
    const std::size_t wished = 2 * cache_bytes_ / data + 1;
    pairs_ = std::max<std::uint64_t>(std::min(wished, ring_limit / stride), 2);
    ring_ = core::Buffer(pairs_ * stride);
    fill_ones(ring_.span(), dtype_);
    stride_ = stride;
}

BufferRing::Pair BufferRing::pair(std::uint64_t turn) noexcept {
    if (stride_ == 0) return hot_pair();
    std::byte* base = ring_.data() + turn % pairs_ * stride_;
    return pair_at(base, in_place_ ? base : base + rounded(input_bytes_));
}

}  // namespace attune::tuner::engine
