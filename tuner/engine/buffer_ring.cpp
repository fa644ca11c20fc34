#include "tuner/engine/buffer_ring.hpp"

#include "libcore/element.hpp"

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
    core::with_element_type(dtype, [&]<class T>(T) {
        const auto one = static_cast<T>(1);
        for (std::size_t at = 0; at + sizeof(T) <= memory.size(); at += sizeof(T))
            std::memcpy(memory.data() + at, &one, sizeof(T));
    });
}

BufferRing::BufferRing(const collectives::Problem& problem, int rank, std::uint64_t cache_bytes)
    : problem_(problem), in_place_(problem.in_place), cache_bytes_(cache_bytes) {
    const std::size_t element = core::size_of(problem.dtype);
    input_bytes_ = in_place_ ? 0 : problem.input_elements() * element;
    output_bytes_ = in_place_ ? problem.bytes() : problem.output_elements() * element;
    own_input_offset_ = in_place_ ? collectives::in_place_input_offset(problem, rank) * element : 0;
    own_output_offset_ = in_place_ ? collectives::in_place_output_offset(problem, rank) * element : 0;
    if (!in_place_) input_ = core::Buffer(input_bytes_);
    output_ = core::Buffer(output_bytes_);
    if (!in_place_) fill_ones(input_.span(), problem.dtype);
    fill_ones(output_.span(), problem.dtype);
}

void BufferRing::make_ring() {
    if (stride_ != 0 || problem_.bytes() == 0) return;
    const std::size_t data = rounded(input_bytes_) + rounded(output_bytes_);
    const std::size_t stride = data + gap_bytes;
    const std::size_t wished = 2 * cache_bytes_ / data + 1;
    pairs_ = std::max<std::uint64_t>(std::min(wished, ring_limit / stride), 2);
    ring_ = core::Buffer(pairs_ * stride);
    fill_ones(ring_.span(), problem_.dtype);
    stride_ = stride;
}

BufferRing::Pair BufferRing::pair(std::uint64_t turn) noexcept {
    Pair pair{input_buffer().data(), output_.data(), nullptr};
    if (stride_ != 0) {
        std::byte* base = ring_.data() + turn % pairs_ * stride_;
        pair = {base, in_place_ ? base : base + rounded(input_bytes_), nullptr};
    }
    if (problem_.bytes() != 0) pair.touched = pair.input + own_input_offset_;
    return pair;
}

}  // namespace attune::tuner::engine
