// What a generator sees: a problem restricted to a range of elements. Segments and channels are such ranges, so that no algorithm knows them.
#pragma once

#include "collectives/builder.hpp"
#include "collectives/problem.hpp"

#include <cstdint>
#include <vector>

namespace attune::collectives {

// Elements [begin, begin + length) of the vector (all_reduce, broadcast) or of every rank's block (all_gather, reduce_scatter).
struct Part {
    const Problem& problem;
    Rank rank = 0;
    std::uint64_t begin = 0;
    std::uint64_t length = 0;

    int ranks() const noexcept { return problem.ranks; }
    // The smaller buffer's part: the vector, or the own block where the buffer holds one.
    Slice whole(BufferId buffer) const noexcept { return {buffer, begin, length}; }
    // Rank q's block in a buffer of `ranks` blocks.
    Slice block(BufferId buffer, Rank q) const noexcept { return {buffer, static_cast<std::uint64_t>(q) * problem.count + begin, length}; }
    // Blocks of consecutive ranks lie side by side only when the part is the whole block.
    bool blocks_touch() const noexcept { return length == problem.count; }
    // Rank i steps after this one, around the ring; i may be negative.
    Rank neighbor(int i) const noexcept { return static_cast<Rank>(((rank + i) % ranks() + ranks()) % ranks()); }
};

// Slice `index` of `pieces` nearly equal ones, the longer first.
Slice balanced(const Slice& whole, int pieces, int index) noexcept;
// Slices [first, first + many) of them, which lie side by side.
Slice balanced_run(const Slice& whole, int pieces, int first, int many) noexcept;

int floor_log2(int value) noexcept;  // value >= 1
int ceil_log2(int value) noexcept;

// All other ranks, from the next one on around the ring, so that not all ranks start with the same peer.
std::vector<Rank> others(const Part& part);

// destination = contribution of rank 0 + of rank 1 + ..., where this rank's own is the local slice. The first two operands are swapped on
// rank 0, which changes no bit, because a fold may begin with a message but not with its own destination. At least two ranks.
void rank_order_fold(Builder& builder, const Part& part, const Slice& own, const Slice& destination);

// input -> output of the rank itself unless they are the same memory.
void copy_own(Builder& builder, const Part& part, const Slice& source, const Slice& destination);

}  // namespace attune::collectives
