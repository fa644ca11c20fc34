// Which ranks share a node. The canonical text of a map stands in problems, keys and the database.
#pragma once

#include "collectives/schedule.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace attune::collectives {

// Nodes are numbered in the order of their first ranks, so equal maps are equal texts.
struct NodeMap {
    std::vector<int> node_of;  // by rank

    // Canonical texts and their equals: "2x4" = 2 nodes of 4 ranks each, "2,2,1" = nodes of so many ranks, filled one after another; with ":cyclic"
    // dealt like cards, a full node being left out; "irregular:0,1,1,0" = the node of each rank. "block" is accepted as the default it is.
    // Throws Error(usage).
    static NodeMap parse(std::string_view text);
    // Nodes of `ranks_per_node`, the last one with what is left. Throws Error(usage) for numbers below 1.
    static NodeMap blocks(int ranks, int ranks_per_node);
    // From any labels, one per rank: equal labels are one node.
    static NodeMap of_labels(const std::vector<std::string>& labels);

    std::string text() const;

    int ranks() const noexcept { return static_cast<int>(node_of.size()); }
    int nodes() const noexcept;
    std::vector<Rank> ranks_of(int node) const;  // ascending
    Rank leader(int node) const;                 // its first rank; -1 = there is no such node
    bool together(Rank a, Rank b) const { return node_of.at(static_cast<std::size_t>(a)) == node_of.at(static_cast<std::size_t>(b)); }

    friend bool operator==(const NodeMap&, const NodeMap&) = default;
};

}  // namespace attune::collectives
