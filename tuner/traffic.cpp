#include "tuner/traffic.hpp"

#include <memory>
#include <numeric>
#include <utility>

namespace attune::tuner {

namespace {

using collectives::Amounts;
using collectives::Collective;
using collectives::Problem;
using collectives::Transfer;
using Counts = std::vector<std::uint64_t>;

Problem with(Problem shape, Amounts amounts) {
    shape.amounts = std::make_shared<const Amounts>(std::move(amounts));
    return shape;
}

// By weights; what rounding leaves over goes to the last block.
Counts weighted(const Counts& weights, std::uint64_t total) {
    const std::uint64_t sum = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
    Counts counts;
    std::uint64_t given = 0;
    for (const std::uint64_t weight : weights) {
        counts.push_back(sum == 0 ? 0 : total / sum * weight + total % sum * weight / sum);
        given += counts.back();
    }
    if (sum != 0) counts.back() += total - given;
    return counts;
}

Counts row_of(AmountPattern pattern, int ranks, int sender, std::uint64_t total) {
    if (pattern == AmountPattern::one_hot) return blocks_of(pattern, ranks, total / static_cast<std::uint64_t>(ranks));
    if (pattern != AmountPattern::uneven) return blocks_of(pattern, ranks, total);
    if (ranks > 1 && sender == ranks - 1) return Counts(static_cast<std::size_t>(ranks), 0);
    Counts weights;
    for (int receiver = 0; receiver < ranks; ++receiver)
        weights.push_back(ranks == 1 ? 1 : static_cast<std::uint64_t>((sender + 2 * receiver) % ranks));
    return weighted(weights, total);
}

Amounts matrix_of(AmountPattern pattern, int ranks, std::uint64_t total) {
    Amounts amounts;
    for (int sender = 0; sender < ranks; ++sender) {
        const Counts row = row_of(pattern, ranks, sender, total);
        amounts.matrix.insert(amounts.matrix.end(), row.begin(), row.end());
    }
    return amounts;
}

struct Pair {
    int from, to;
};

std::vector<Pair> pairs_of(PairPattern pattern, int ranks) {
    const int half = ranks / 2;
    std::vector<Pair> pairs;
    switch (pattern) {
        case PairPattern::ring:
            for (int rank = 0; rank < ranks; ++rank)
                pairs.push_back({rank, (rank + 1) % ranks});
            break;
        case PairPattern::one_way:
            pairs = {{0, half}};
            break;
        case PairPattern::both_ways:
            pairs = {{0, half}};
            if (half != 0) pairs.push_back({half, 0});
            break;
        case PairPattern::halves:
            for (int rank = 0; rank < half; ++rank)
                pairs.push_back({rank, rank + half});
            if (half == 0) pairs = {{0, 0}};
            break;
    }
    return pairs;
}

void add_message(Amounts& amounts, Pair pair, std::uint64_t count, std::uint64_t from_offset, std::uint64_t to_offset) {
    amounts.transfers.push_back({.is_send = true, .peer = pair.to, .count = count, .offset = from_offset, .rank = pair.from});
    amounts.transfers.push_back({.is_send = false, .peer = pair.from, .count = count, .offset = to_offset, .rank = pair.to});
}

}  // namespace

Counts blocks_of(AmountPattern pattern, int ranks, std::uint64_t total) {
    const auto size = static_cast<std::size_t>(ranks);
    Counts counts(size, 0);
    switch (pattern) {
        case AmountPattern::balanced:
            for (std::size_t rank = 0; rank < size; ++rank)
                counts[rank] = total / size + (rank < total % size ? 1 : 0);
            break;
        case AmountPattern::uneven:
            std::iota(counts.begin(), counts.end(), size == 1 ? 1 : 0);
            return weighted(counts, total);
        case AmountPattern::one_hot:
            counts.back() = total;
            break;
        case AmountPattern::zero:
            break;
    }
    return counts;
}

Problem with_amounts(Problem shape, AmountPattern pattern, std::uint64_t total) {
    shape.count = 0;
    const int ranks = shape.ranks;
    if (shape.collective == Collective::all_to_all_v) return with(std::move(shape), matrix_of(pattern, ranks, total));
    const bool sends = shape.collective == Collective::reduce_scatter_v || shape.collective == Collective::scatter_v;
    Amounts amounts;
    (sends ? amounts.send : amounts.receive) = blocks_of(pattern, ranks, total);
    return with(std::move(shape), std::move(amounts));
}

Problem with_partners(Problem shape, PairPattern pattern, std::uint64_t count) {
    Amounts amounts;
    for (const Pair pair : pairs_of(pattern, shape.ranks))
        add_message(amounts, pair, count, 0, 0);
    shape.count = count;
    return with(std::move(shape), std::move(amounts));
}

int messages_of(PairPattern pattern, int ranks) noexcept {
    if (pattern == PairPattern::ring) return ranks;
    if (pattern == PairPattern::one_way || ranks < 2) return 1;
    return pattern == PairPattern::both_ways ? 2 : ranks / 2;
}

// What goes right comes from the left, and lies in the first block; what goes left in the second.
Problem with_neighbours(Problem shape, std::uint64_t count) {
    Amounts amounts;
    for (int rank = 0; rank < shape.ranks; ++rank) {
        const int right = (rank + 1) % shape.ranks;
        add_message(amounts, {rank, right}, count, 0, 0);
        add_message(amounts, {right, rank}, count, count, count);
    }
    shape.count = 0;
    return with(std::move(shape), std::move(amounts));
}

}  // namespace attune::tuner
