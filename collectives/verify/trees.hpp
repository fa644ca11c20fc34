// Reduction trees, each distinct one stored once: equal trees have equal numbers. A leaf is one rank's contribution; which element it
// is stands beside the tree, so that all elements of a slice share one tree.
#pragma once

#include "collectives/schedule.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace attune::collectives::verify {

using Tree = std::uint32_t;

class Trees {
public:
    // Leaves of `ranks` ranks get the numbers 0 .. ranks - 1. Trees stay known between calls with equal `ranks`.
    void reset(int ranks);
    Tree leaf(Rank rank) const noexcept { return static_cast<Tree>(rank); }
    // One ordered node; the first two operands may be given in either order. At least two.
    Tree fold(std::span<const Tree> operands) { return fold_and_finish(operands, false); }
    // The same with the division before the result is rounded: another tree than the fold scaled afterwards, because its bits may differ.
    Tree fold_scaled(std::span<const Tree> operands) { return fold_and_finish(operands, true); }
    Tree scaled(Tree operand);
    // Every rank exactly once, and nothing scaled.
    bool complete(Tree tree) const noexcept { return nodes_[tree].whole; }
    // The same, then scaled once.
    bool complete_and_scaled(Tree tree) const noexcept { return nodes_[tree].divided; }
    // Ranks 0 .. ranks - 1 exactly once and no others, nothing scaled.
    bool is_prefix(Tree tree, Rank ranks) const noexcept;
    std::string describe(Tree tree) const;

private:
    struct Node {
        std::uint32_t first = 0, count = 0;  // operands
        std::uint64_t hash = 0;
        bool sound = true;  // no rank twice, nothing scaled
        bool whole = false;
        bool is_scaled = false;
        bool divided = false;  // every rank exactly once in the operands, scaled here
    };

    Tree fold_and_finish(std::span<const Tree> operands, bool is_scaled);
    Tree find_or_add(std::span<const Tree> operands, bool is_scaled);
    Tree add(std::span<const Tree> operands, bool is_scaled, std::uint64_t hash);
    void merge_ranks(Node& node, std::span<const Tree> operands);
    void grow();
    std::span<const Tree> operands_of(const Node& node) const noexcept { return std::span(operands_).subspan(node.first, node.count); }

    int ranks_ = 0;
    std::size_t words_ = 0;
    std::vector<Node> nodes_;
    std::vector<Tree> operands_;
    std::vector<std::uint64_t> rank_sets_;  // words_ per node
    std::vector<Tree> table_;               // open addressing, a power of two, at most half full
    std::vector<Tree> canonical_;
};

}  // namespace attune::collectives::verify
