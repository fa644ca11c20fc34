// What is asked for: a collective on so many ranks and elements. Every field is equal on all ranks by contract.
#pragma once

#include "libcore/dtypes.hpp"
#include "libcore/ops.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attune::collectives {

enum class Collective : std::uint8_t { all_reduce, all_gather, reduce_scatter, broadcast, barrier };

std::string_view name_of(Collective collective) noexcept;
Collective parse_collective(std::string_view text);  // throws Error(usage) naming the nearest
std::span<const Collective> all_collectives() noexcept;
bool is_rooted(Collective collective) noexcept;  // broadcast
bool reduces(Collective collective) noexcept;    // all_reduce, reduce_scatter

// Elements of each rank's buffers, `count` = elements of the smaller buffer (one rank's block):
//   all_reduce      input count            output count
//   all_gather      input count            output ranks x count
//   reduce_scatter  input ranks x count    output count
//   broadcast       input count (root's)   output count
//   barrier         none; count is 0
struct Problem {
    Collective collective = Collective::all_reduce;
    int ranks = 1;
    std::uint64_t count = 0;
    core::DType dtype = core::DType::float32;
    core::Op op = core::Op::sum;
    int root = 0;
    // One buffer, NCCL's placement: all_reduce and broadcast share it whole; all_gather's input is output + rank x count;
    // reduce_scatter's output is input + rank x count.
    bool in_place = false;
    std::string node_map;  // canonical text, "1x4"

    std::uint64_t input_elements() const noexcept;
    std::uint64_t output_elements() const noexcept;
    std::uint64_t bytes() const noexcept;  // of the larger buffer; 0 for barrier

    friend bool operator==(const Problem&, const Problem&) = default;
};

// Position of `input` (or `output`) inside the one user buffer of an in-place call, in elements.
std::uint64_t in_place_input_offset(const Problem& problem, int rank) noexcept;
std::uint64_t in_place_output_offset(const Problem& problem, int rank) noexcept;

}  // namespace attune::collectives
