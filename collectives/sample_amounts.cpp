#include "collectives/sample_amounts.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace attune::collectives {

namespace {

constexpr std::array shapes = {AmountsShape::uneven, AmountsShape::gaps, AmountsShape::sparse, AmountsShape::one_hot, AmountsShape::all_zero};
constexpr std::array<std::string_view, shapes.size()> names = {"uneven", "gaps", "sparse", "one_hot", "all_zero"};

// What rank a gives rank b.
struct Pattern {
    AmountsShape shape;
    int ranks;
    std::uint64_t unit;

    std::uint64_t between(Rank a, Rank b) const {
        const auto mixed = static_cast<std::uint64_t>(a * 7 + b * 5 + a * b);
        switch (shape) {
            case AmountsShape::all_zero:
                return 0;
            case AmountsShape::one_hot:
                return a == ranks - 1 && b == 0 ? 3 * unit + 1 : 0;
            case AmountsShape::sparse:
                return (a + 2 * b) % 3 == 1 ? mixed % (unit + 1) + 1 : 0;
            default:
                return mixed % (2 * unit + 1) + (unit + 1) / 2;
        }
    }
    // Block q where one vector of blocks is all there is.
    std::uint64_t block(Rank q) const { return between(q, shape == AmountsShape::one_hot ? 0 : (q + 1) % ranks); }
};

std::vector<std::uint64_t> counts_of(const Pattern& pattern) {
    std::vector<std::uint64_t> counts;
    for (Rank q = 0; q < pattern.ranks; ++q)
        counts.push_back(pattern.block(q));
    return counts;
}

std::vector<std::uint64_t> matrix_of(const Pattern& pattern) {
    std::vector<std::uint64_t> matrix;
    for (Rank a = 0; a < pattern.ranks; ++a)
        for (Rank b = 0; b < pattern.ranks; ++b)
            matrix.push_back(pattern.between(a, b));
    return matrix;
}

// The last rank's block first, with an element between blocks. Wide enough for every row and column, so that all ranks may have the same.
std::vector<std::uint64_t> offsets_of(const Pattern& pattern, std::uint64_t longest) {
    std::vector<std::uint64_t> offsets;
    for (Rank q = 0; q < pattern.ranks; ++q)
        offsets.push_back(static_cast<std::uint64_t>(pattern.ranks - 1 - q) * (longest + 1));
    return offsets;
}

// Each rank sends to the next, or as the shape says to none, one, or itself.
std::vector<Transfer> pairs_of(const Pattern& pattern) {
    std::vector<Transfer> transfers;
    for (Rank a = 0; a < pattern.ranks; ++a) {
        const Rank b = (a + 1) % pattern.ranks;
        const bool chosen = pattern.shape != AmountsShape::sparse || (a % 2 == 0 && b > a);
        if (pattern.shape == AmountsShape::all_zero || !chosen || (pattern.shape == AmountsShape::one_hot && a != pattern.ranks - 1)) continue;
        transfers.push_back({true, b, pattern.unit, 0, a});
        transfers.push_back({false, a, pattern.unit, 0, b});
    }
    return transfers;
}

// One or two messages of a to b, also to itself.
int messages_between(const Pattern& pattern, Rank a, Rank b) {
    return pattern.between(a, b) == 0 ? 0 : 1 + (a + b) % 2;
}

// Every rank writes its receives before its sends, the peers in an order of its own: an order in which blocking calls would wait for each other.
std::vector<Transfer> batch_of(const Pattern& pattern) {
    std::vector<Transfer> transfers;
    const std::uint64_t gap = pattern.shape == AmountsShape::gaps ? 2 : 0;
    for (Rank rank = 0; rank < pattern.ranks; ++rank) {
        for (const bool sends : {false, true}) {
            std::uint64_t offset = gap;
            for (int i = 0; i < pattern.ranks; ++i) {
                const Rank peer = sends ? (rank + i) % pattern.ranks : (rank + 2 * pattern.ranks - i - 1) % pattern.ranks;
                const Rank from = sends ? rank : peer;
                const Rank to = sends ? peer : rank;
                for (int message = 0; message < messages_between(pattern, from, to); ++message) {
                    const std::uint64_t count = pattern.between(from, to) + static_cast<std::uint64_t>(message);
                    transfers.push_back({sends, peer, count, offset, rank});
                    offset += count + gap;
                }
            }
        }
    }
    return transfers;
}

Amounts amounts_of(Collective collective, const Pattern& pattern) {
    Amounts amounts;
    using enum Collective;
    const bool sends = collective == reduce_scatter_v || collective == scatter_v;
    switch (collective) {
        case all_to_all_v:
            amounts.matrix = matrix_of(pattern);
            break;
        case send_recv:
            amounts.transfers = pairs_of(pattern);
            return amounts;
        case batch_send_recv:
            amounts.transfers = batch_of(pattern);
            return amounts;
        default:
            (sends ? amounts.send : amounts.receive) = counts_of(pattern);
    }
    if (pattern.shape != AmountsShape::gaps) return amounts;
    const std::uint64_t longest = std::ranges::max(amounts.matrix.empty() ? counts_of(pattern) : amounts.matrix);
    if (sends || collective == all_to_all_v) amounts.send_offsets = offsets_of(pattern, longest);
    if (!sends) amounts.receive_offsets = offsets_of(pattern, longest);
    return amounts;
}

}  // namespace

std::span<const AmountsShape> all_amounts_shapes() noexcept {
    return shapes;
}

std::string_view name_of(AmountsShape shape) noexcept {
    return names[static_cast<std::size_t>(shape)];
}

Problem with_sample_amounts(Problem problem, AmountsShape shape, std::uint64_t unit) {
    problem.count = has_amounts(problem.collective) && problem.collective != Collective::send_recv ? 0 : unit;
    if (problem.collective == Collective::barrier) problem.count = 0;
    if (has_amounts(problem.collective)) problem.amounts = std::make_shared<const Amounts>(amounts_of(problem.collective, {shape, problem.ranks, unit}));
    return problem;
}

Problem with_elements(Problem problem, std::uint64_t elements) {
    const std::uint64_t blocks = has_blocks(problem.collective) ? static_cast<std::uint64_t>(problem.ranks) : 1;
    const bool has_size = problem.collective == Collective::all_gather_v || problem.collective == Collective::reduce_scatter_v;
    if (!has_amounts(problem.collective) || problem.collective == Collective::send_recv)
        return with_sample_amounts(std::move(problem), AmountsShape::all_zero, elements / blocks);
    problem = with_sample_amounts(std::move(problem), AmountsShape::all_zero, 0);
    if (!has_size) return problem;
    Amounts amounts = *problem.amounts;
    (problem.collective == Collective::all_gather_v ? amounts.receive : amounts.send)[0] = elements;
    problem.amounts = std::make_shared<const Amounts>(std::move(amounts));
    return problem;
}

}  // namespace attune::collectives
