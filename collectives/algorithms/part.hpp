// What a generator sees: a problem restricted to a range of elements. Segments and channels are such ranges, so that no algorithm knows them.
#pragma once

#include "collectives/builder.hpp"
#include "collectives/problem.hpp"

#include <cstdint>
#include <vector>

namespace attune::collectives {

// Piece `index` of `of` nearly equal ones.
struct Piece {
    int index = 0;
    int of = 1;
};

// Elements [begin, begin + length) of the vector (all_reduce, broadcast) or of every rank's block (all_gather, reduce_scatter). With amounts the same piece
// of every block, whatever its length, so that two ranks cut the block between them alike without knowing the others'.
struct Part {
    const Problem& problem;
    Rank rank = 0;
    std::uint64_t begin = 0;
    std::uint64_t length = 0;
    Piece channel = {}, segment = {};  // of the channel's piece; only with amounts

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

// destination = contribution of rank 0 + of rank 1 + ..., finished for avg, where this rank's own is the local slice. The first two operands are swapped on
// rank 0, which changes no bit, because a fold may begin with a message but not with its own destination. At least two ranks.
void rank_order_fold(Builder& builder, const Part& part, const Slice& own, const Slice& destination);

// Collectives with amounts: the part of a block, of this rank's whole input or output, and of the blocks per peer.
Slice cut(const Part& part, const Slice& block) noexcept;
Slice own_contribution(const Part& part);
Slice own_result(const Part& part);
std::vector<Slice> sent_blocks(const Part& part);
std::vector<Slice> received_blocks(const Part& part);

// Ranks of the subtree below `place` of a binomial tree over `ranks` places, itself included: places [place, place + subtree).
int subtree(int place, int ranks) noexcept;

// Blocks of places [first_place, first_place + many) after the root around the ring, side by side in the root's larger buffer.
struct Run {
    int first_place = 0;
    int many = 0;

    Slice at_root(const Part& part, BufferId buffer) const noexcept;
};
// The places as runs, the same on both ends: one each side of the end of the buffer, or single blocks where the parts of blocks lie apart.
std::vector<Run> root_runs(const Part& part, int first_place, int many);

// Of a fold that makes a final value.
Finish final_finish(const Part& part) noexcept;

// input -> output of the rank itself unless they are the same memory.
void copy_own(Builder& builder, const Part& part, const Slice& source, const Slice& destination);

}  // namespace attune::collectives
