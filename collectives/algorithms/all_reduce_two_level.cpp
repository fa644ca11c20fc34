// Two levels: with m = ranks of the smallest node, the first m ranks of every node fold one of m slices of their node's vectors each, the j-th ranks of all
// nodes all_reduce slice j among themselves by recursive halving and doubling, and each node spreads its slices. Between nodes every rank moves n/m bytes
// twice, so a link between nodes carries n bytes each way, however many ranks a node has (Luo et al. 2020, HAN; Graham and Shipman 2008).
#include "collectives/algorithms/algorithms.hpp"

#include "collectives/composition.hpp"
#include "collectives/node_map.hpp"

#include <algorithm>
#include <utility>

namespace attune::collectives::algorithms {

namespace {

struct Nodes {
    std::vector<std::vector<Rank>> members;  // by node, ascending
    std::size_t home = 0;                    // this rank's node
    int owners = 0;                          // ranks of the smallest node: so many of each own a slice
    int place = 0;                           // of this rank in its node
};

Nodes nodes_of(const Part& part) {
    const std::string& text = part.problem.node_map;
    const NodeMap map = text.empty() ? NodeMap::blocks(part.ranks(), part.ranks()) : NodeMap::parse(text);
    Nodes nodes;
    for (int node = 0; node < map.nodes(); ++node)
        nodes.members.push_back(map.ranks_of(node));
    nodes.home = static_cast<std::size_t>(map.node_of[static_cast<std::size_t>(part.rank)]);
    nodes.owners = static_cast<int>(std::ranges::min_element(nodes.members, {}, &std::vector<Rank>::size)->size());
    const std::vector<Rank>& home = nodes.members[nodes.home];
    nodes.place = static_cast<int>(std::ranges::find(home, part.rank) - home.begin());
    return nodes;
}

// Member i of a node of `size` folds slice i when it owns one. `local` is the part as the members see it.
Program reduce_to_owners(const Part& local, int owners) {
    Builder builder(local.rank);
    const Slice input = local.whole(BufferId::input);
    const Slice output = local.whole(BufferId::output);
    for (int i = 1; i < local.ranks(); ++i) {
        const Rank owner = local.neighbor(i);
        if (owner < owners) builder.send(owner, balanced(input, owners, owner));
    }
    if (local.rank < owners) {
        const Slice mine = balanced(input, owners, local.rank);
        const Slice result = balanced(output, owners, local.rank);
        if (local.ranks() == 1) {
            copy_own(builder, local, mine, result);
        } else {
            rank_order_fold(builder, local, mine, result);
        }
    }
    builder.end_round();
    return builder.finish();
}

// All ranks receive in one order, so that no circle of multicasts can form.
Program spread_from_owners(const Part& local, int owners) {
    Builder builder(local.rank);
    const Slice output = local.whole(BufferId::output);
    if (local.rank < owners) builder.multicast(others(local), balanced(output, owners, local.rank));
    for (Rank owner = 0; owner < owners; ++owner) {
        if (owner != local.rank) builder.recv(owner, balanced(output, owners, owner));
    }
    builder.end_round();
    return builder.finish();
}

// The problem of a group. Nodes divide for avg only when nobody does so after them.
Problem problem_of_group(const Part& part, std::size_t members, bool is_last) {
    Problem problem = part.problem;
    problem.ranks = static_cast<int>(members);
    problem.node_map.clear();
    if (!is_last) problem.op = core::Op::sum;
    return problem;
}

// Ranks that own no slice are no members of the column they look at.
Program between_nodes(const Part& part, const Nodes& nodes) {
    const bool owns = nodes.place < nodes.owners;
    const int slice = owns ? nodes.place : 0;
    std::vector<Rank> column;
    for (const std::vector<Rank>& node : nodes.members)
        column.push_back(node[static_cast<std::size_t>(slice)]);
    Problem problem = problem_of_group(part, column.size(), true);
    problem.in_place = true;
    const Slice range = balanced(part.whole(BufferId::output), nodes.owners, slice);
    return reading_output(on_ranks(column, part.rank, [&](Rank local) {
        return all_reduce_recursive_halving_doubling({problem, local, range.offset, range.length});
    }));
}

}  // namespace

Program all_reduce_two_level(const Part& part) {
    const Nodes nodes = nodes_of(part);
    const std::vector<Rank>& home = nodes.members[nodes.home];
    const Problem inside = problem_of_group(part, home.size(), nodes.members.size() == 1);
    const auto local_part = [&](Rank local) { return Part{inside, local, part.begin, part.length}; };
    Program program = on_ranks(home, part.rank, [&](Rank local) { return reduce_to_owners(local_part(local), nodes.owners); });
    program = then(std::move(program), between_nodes(part, nodes));
    return then(std::move(program), on_ranks(home, part.rank, [&](Rank local) { return spread_from_owners(local_part(local), nodes.owners); }));
}

}  // namespace attune::collectives::algorithms
