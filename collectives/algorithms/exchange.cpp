#include "collectives/algorithms/exchange.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace attune::collectives::algorithms {

void run_exchange(Builder& builder, const Part& part, const Exchange& exchange) {
    const auto at = [](Rank rank) { return static_cast<std::size_t>(rank); };
    const Slice& own = exchange.sent[at(part.rank)];
    copy_own(builder, part, own, exchange.received[at(part.rank)]);
    builder.end_round();
    for (int first = 1; first < part.ranks(); first += exchange.window) {
        const int end = std::min(first + exchange.window, part.ranks());
        for (int i = first; i < end; ++i)
            builder.send(part.neighbor(i), exchange.sent[at(part.neighbor(i))]);
        for (int i = first; i < end; ++i)
            builder.recv(part.neighbor(-i), exchange.received[at(part.neighbor(-i))]);
        builder.end_round();
    }
}

Exchange blocks_to_exchange(Builder& builder, const Part& part) {
    Exchange exchange;
    for (Rank q = 0; q < part.ranks(); ++q) {
        exchange.sent.push_back(part.block(BufferId::input, q));
        exchange.received.push_back(part.block(BufferId::output, q));
    }
    if (!part.problem.in_place) return exchange;
    const Slice kept = builder.scratch(part.ranks() > 1 ? static_cast<std::uint64_t>(part.ranks()) * part.length : 0);
    const auto move = [&](Rank first, Rank end) {
        if (first == end) return;
        Slice from = part.block(BufferId::input, first);
        from.length *= static_cast<std::uint64_t>(end - first);
        builder.copy(from, kept.part(static_cast<std::uint64_t>(first) * part.length, from.length));
    };
    const int step = part.blocks_touch() ? part.ranks() : 1;
    const std::array<std::pair<Rank, Rank>, 2> sides = {{{0, part.rank}, {part.rank + 1, part.ranks()}}};
    for (const auto& [begin, end] : sides) {
        for (Rank first = begin; first < end; first += step)
            move(first, std::min(first + step, end));
    }
    for (Rank q = 0; q < part.ranks(); ++q) {
        if (q != part.rank) exchange.sent[static_cast<std::size_t>(q)] = kept.part(static_cast<std::uint64_t>(q) * part.length, part.length);
    }
    return exchange;
}

}  // namespace attune::collectives::algorithms
