#include "collectives/verify/postcondition.hpp"

#include "collectives/amounts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace attune::collectives::verify {

namespace {

using Promises = std::vector<Promise>;
using Of = Promise::Of;

std::uint64_t wide(Rank rank) {
    return static_cast<std::uint64_t>(rank);
}

Promises vector_of_root(const Problem& problem, Rank) {
    return {{Of::one, problem.root, 0, problem.count, 0}};
}
Promises all_folded(const Problem& problem, Rank) {
    return {{Of::all, 0, 0, problem.count, 0}};
}
Promises folded_at_root(const Problem& problem, Rank rank) {
    return rank == problem.root ? all_folded(problem, rank) : Promises{};
}
Promises own_block_folded(const Problem& problem, Rank rank) {
    return {{Of::all, 0, 0, problem.count, wide(rank) * problem.count}};
}
Promises block_of_each(const Problem& problem, Rank) {
    Promises promises;
    for (Rank q = 0; q < problem.ranks; ++q)
        promises.push_back({Of::one, q, wide(q) * problem.count, problem.count, 0});
    return promises;
}
Promises blocks_at_root(const Problem& problem, Rank rank) {
    return rank == problem.root ? block_of_each(problem, rank) : Promises{};
}
Promises block_of_root(const Problem& problem, Rank rank) {
    return {{Of::one, problem.root, 0, problem.count, wide(rank) * problem.count}};
}
Promises block_for_each(const Problem& problem, Rank rank) {
    Promises promises = block_of_each(problem, rank);
    for (Promise& promise : promises)
        promise.element = wide(rank) * problem.count;
    return promises;
}
Promises nothing(const Problem&, Rank) {
    return {};
}
Promises folded_up_to(const Problem& problem, Rank rank) {
    return {{Of::prefix, rank + 1, 0, problem.count, 0}};
}
Promises folded_before(const Problem& problem, Rank rank) {
    if (rank == 0) return {};
    return {{Of::prefix, rank, 0, problem.count, 0}};
}

Promises gathered(const Problem& global, Rank rank) {
    Promises promises;
    const std::vector<Block> blocks = receive_blocks(view_of(global, rank), rank);
    for (Rank q = 0; q < static_cast<Rank>(blocks.size()); ++q)
        promises.push_back({Of::one, q, blocks[static_cast<std::size_t>(q)].offset, blocks[static_cast<std::size_t>(q)].length, 0});
    return promises;
}
Promises gathered_at_root(const Problem& global, Rank rank) {
    return rank == global.root ? gathered(global, rank) : Promises{};
}
Promises own_block_folded_v(const Problem& global, Rank rank) {
    const Block block = send_blocks(global, rank)[static_cast<std::size_t>(rank)];
    return {{Of::all, 0, 0, block.length, block.offset}};
}
Promises scattered(const Problem& global, Rank rank) {
    const Block block = send_blocks(view_of(global, global.root), global.root)[static_cast<std::size_t>(rank)];
    return {{Of::one, global.root, 0, block.length, block.offset}};
}
Promises exchanged(const Problem& global, Rank rank) {
    Promises promises = gathered(global, rank);
    for (Promise& promise : promises)
        promise.element = send_blocks(global, promise.who)[static_cast<std::size_t>(rank)].offset;
    return promises;
}
Promises one_message(const Problem& global, Rank rank) {
    const Rank source = view_of(global, rank).amounts->source;
    if (source < 0) return {};
    return {{Of::one, source, 0, global.count, 0}};
}

// The k-th receive of a peer gets that peer's k-th send to this rank.
Promises batched(const Problem& global, Rank rank) {
    Promises promises;
    std::vector<std::size_t> taken(static_cast<std::size_t>(global.ranks), 0);
    const Problem own = view_of(global, rank);  // a temporary would not outlive the loop's head
    for (const Transfer& receive : own.amounts->transfers) {
        if (receive.is_send) continue;
        std::size_t left = taken[static_cast<std::size_t>(receive.peer)]++;
        for (const Transfer& send : global.amounts->transfers) {
            if (!send.is_send || send.rank != receive.peer || send.peer != rank || left-- > 0) continue;
            promises.push_back({Of::one, receive.peer, receive.offset, receive.count, send.offset});
            break;
        }
    }
    return promises;
}

struct Line {
    Collective collective;
    Promises (*promises)(const Problem&, Rank);
};
using enum Collective;
constexpr std::array lines = {
    Line{all_reduce, all_folded},
    Line{all_gather, block_of_each},
    Line{reduce_scatter, own_block_folded},
    Line{broadcast, vector_of_root},
    Line{Collective::reduce, folded_at_root},
    Line{gather, blocks_at_root},
    Line{scatter, block_of_root},
    Line{all_to_all, block_for_each},
    Line{barrier, nothing},
    Line{scan, folded_up_to},
    Line{exscan, folded_before},
    Line{all_gather_v, gathered},
    Line{reduce_scatter_v, own_block_folded_v},
    Line{gather_v, gathered_at_root},
    Line{scatter_v, scattered},
    Line{all_to_all_v, exchanged},
    Line{send_recv, one_message},
    Line{batch_send_recv, batched},
};
constexpr bool in_order = [] {
    for (std::size_t i = 0; i < lines.size(); ++i)
        if (static_cast<std::size_t>(lines[i].collective) != i) return false;
    return true;
}();
static_assert(in_order && static_cast<std::size_t>(batch_send_recv) + 1 == lines.size());

}  // namespace

std::vector<Promise> promises_of(const Problem& global, Rank rank) {
    Promises promises = lines[static_cast<std::size_t>(global.collective)].promises(global, rank);
    std::erase_if(promises, [](const Promise& promise) { return promise.length == 0; });
    std::ranges::sort(promises, {}, &Promise::first);
    return promises;
}

bool keeps(const Trees& trees, const Problem& problem, const Promise& promise, Tree tree) noexcept {
    switch (promise.of) {
        case Of::one:
            return tree == trees.leaf(promise.who);
        case Of::prefix:
            return trees.is_prefix(tree, promise.who);
        case Of::all:
            break;
    }
    return averages(problem) ? trees.complete_and_scaled(tree) : trees.complete(tree);
}

std::string describe(const Trees& trees, const Problem& problem, const Promise& promise) {
    if (promise.of == Of::one) return trees.describe(trees.leaf(promise.who));
    if (promise.of == Of::prefix) return fmt::format("ranks 0 to {} once", promise.who - 1);
    return averages(problem) ? "every rank once, scaled once" : "every rank once";
}

}  // namespace attune::collectives::verify
