#include "collectives/costs.hpp"

#include "collectives/algorithms/exchange.hpp"
#include "collectives/algorithms/part.hpp"
#include "collectives/algorithms/prefix.hpp"
#include "collectives/amounts.hpp"
#include "collectives/node_map.hpp"
#include "libcore/dtypes.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace attune::collectives::costs {

namespace {

// p ranks and n bytes of the larger buffer as doubles; L = floor(log2 p), extra = p - 2^L.
struct Shape {
    explicit Shape(const Problem& problem)
        : p(problem.ranks), n(static_cast<double>(problem.bytes())), levels(floor_log2(problem.ranks)), extra(problem.ranks - (1 << levels)) {}

    double others() const { return p - 1; }
    double share() const { return (p - 1) / p * n; }  // all slices but one
    double block() const { return n / p; }
    int folds() const { return extra > 0 ? 1 : 0; }
    // Blocks in the groups of 2^l block ranks that hold rank 0, l = 0 .. L-1.
    double doubled_blocks() const {
        double blocks = 0;
        for (int level = 0; level < levels; ++level)
            blocks += (1 << level) + std::min(1 << level, extra);
        return blocks;
    }

    double p, n;
    int levels, extra;
};

}  // namespace

Cost mesh(const Problem& problem) {
    const Shape s(problem);
    return {s.others() > 0 ? 1.0 : 0.0, s.share(), reduces(problem.collective) ? s.share() : 0};
}

Cost ring(const Problem& problem) {
    const Shape s(problem);
    return {s.others(), s.share(), reduces(problem.collective) ? s.share() : 0};
}

Cost one_shot_all_reduce(const Problem& problem) {
    const Shape s(problem);
    return {s.others() > 0 ? 1.0 : 0.0, s.others() * s.n, s.others() * s.n};
}

Cost two_shot(const Problem& problem) {
    const Shape s(problem);
    return {s.others() > 0 ? 2.0 : 0.0, 2 * s.share(), s.share()};
}

Cost ring_all_reduce(const Problem& problem) {
    const Shape s(problem);
    return {2 * s.others(), 2 * s.share(), s.share()};
}

Cost doubling_all_reduce(const Problem& problem) {
    const Shape s(problem);
    const double exchanges = s.levels + s.folds();
    return {exchanges + s.folds(), exchanges * s.n, exchanges * s.n};
}

Cost doubling_all_gather(const Problem& problem) {
    const Shape s(problem);
    return {s.levels + 2.0 * s.folds(), (s.doubled_blocks() + s.folds() * s.others()) * s.block(), 0};
}

Cost bruck_all_gather(const Problem& problem) {
    const Shape s(problem);
    return {static_cast<double>(ceil_log2(problem.ranks)), s.share(), 0};
}

Cost halving(const Problem& problem) {
    const Shape s(problem);
    return {s.levels + 2.0 * s.folds(), s.folds() > 0 ? s.n : s.share(), s.doubled_blocks() * s.block() + s.folds() * s.n};
}

Cost linear_broadcast(const Problem& problem) {
    const Shape s(problem);
    return {s.others() > 0 ? 1.0 : 0.0, s.others() * s.n, 0};
}

Cost binomial_broadcast(const Problem& problem) {
    const double depth = ceil_log2(problem.ranks);
    return {depth, depth * static_cast<double>(problem.bytes()), 0};
}

Cost chain(const Problem& problem) {
    const Shape s(problem);
    return {s.others(), s.others() > 0 ? s.n : 0, 0};
}

Cost scatter_then_gather(const Problem& problem) {
    const Shape s(problem);
    return {ceil_log2(problem.ranks) + s.others(), 2 * s.share(), 0};
}

Cost dissemination(const Problem& problem) {
    return {static_cast<double>(ceil_log2(problem.ranks)), 0, 0};
}

namespace {

// Bytes of a run of `many` of 2^levels nearly equal slices, the longest first.
struct Slices {
    Slices(double bytes, const Problem& problem, int levels) : size(core::size_of(problem.dtype)), pieces(1 << levels) {
        elements = static_cast<std::uint64_t>(bytes / static_cast<double>(size));
    }
    double run(int many) const { return static_cast<double>(balanced_run({BufferId::input, 0, elements}, pieces, 0, many).length * size); }

    std::uint64_t size, elements = 0;
    int pieces;
};

// Of `bytes` on `ranks` ranks.
Cost halving_doubling_of(const Problem& problem, int ranks, double bytes) {
    const int levels = floor_log2(ranks);
    const double folds = ranks > 1 << levels ? 1 : 0;
    const Slices slices(bytes, problem, levels);
    double doubled = 0;
    for (int level = 0; level < levels; ++level)
        doubled += slices.run(1 << level);
    const double halved = levels > 0 ? bytes - slices.run(1) : 0;
    return {2.0 * levels + 2 * folds, halved + doubled + folds * bytes, doubled + folds * bytes};
}

double bytes_of(const Problem& problem, std::uint64_t elements) {
    return static_cast<double>(elements * core::size_of(problem.dtype));
}

// All blocks but the shortest.
double all_but_shortest(const Problem& problem) {
    const std::vector<std::uint64_t>& counts = problem.collective == Collective::all_gather_v ? problem.amounts->receive : problem.amounts->send;
    if (counts.size() < 2) return 0;
    return bytes_of(problem, std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}) - *std::ranges::min_element(counts));
}

// What the rank that sends most gives to others, as far as the problem knows.
double most_sent(const Problem& problem) {
    std::uint64_t most = 0;
    for (Rank rank = 0; rank < problem.ranks; ++rank) {
        std::uint64_t sum = 0;
        const std::vector<Block> blocks = send_blocks(problem, rank);
        for (Rank peer = 0; peer < problem.ranks; ++peer)
            sum += peer == rank ? 0 : blocks[static_cast<std::size_t>(peer)].length;
        most = std::max(most, sum);
    }
    return bytes_of(problem, most);
}

double window_rounds(const Problem& problem) {
    const int rounds = (problem.ranks - 1 + algorithms::exchange_window - 1) / algorithms::exchange_window;
    return rounds;
}

}  // namespace

Cost halving_doubling(const Problem& problem) {
    return halving_doubling_of(problem, problem.ranks, static_cast<double>(problem.bytes()));
}

Cost two_level(const Problem& problem) {
    const double n = static_cast<double>(problem.bytes());
    const NodeMap map = problem.node_map.empty() ? NodeMap::blocks(problem.ranks, problem.ranks) : NodeMap::parse(problem.node_map);
    std::size_t smallest = map.node_of.size(), largest = 0;
    for (int node = 0; node < map.nodes(); ++node) {
        smallest = std::min(smallest, map.ranks_of(node).size());
        largest = std::max(largest, map.ranks_of(node).size());
    }
    const Slice whole{BufferId::input, 0, problem.count};
    const double slice = bytes_of(problem, balanced(whole, static_cast<int>(smallest), 0).length);
    const double others = static_cast<double>(largest - 1);
    const Cost between = halving_doubling_of(problem, map.nodes(), slice);
    const double owner = n - slice + between.bytes_sent + others * slice;
    const double inside = largest > 1 ? 2 : 0;
    return {inside + between.rounds, largest > smallest ? std::max(owner, n) : owner, others * slice + between.bytes_reduced};
}

Cost linear_reduce(const Problem& problem) {
    const Shape s(problem);
    return {s.others() > 0 ? 1.0 : 0.0, s.others() > 0 ? s.n : 0, s.others() * s.n};
}

Cost binomial_reduce(const Problem& problem) {
    const Shape s(problem);
    const double depth = ceil_log2(problem.ranks);
    return {depth, s.others() > 0 ? s.n : 0, depth * s.n};
}

Cost linear_gather(const Problem& problem) {
    const Shape s(problem);
    return {s.others() > 0 ? 1.0 : 0.0, s.others() > 0 ? s.block() : 0, 0};
}

Cost binomial_gather(const Problem& problem) {
    const Shape s(problem);
    int largest = 0;
    for (int distance = 1; distance < problem.ranks; distance *= 2)
        largest = std::max(largest, subtree(distance, problem.ranks));
    return {static_cast<double>(ceil_log2(problem.ranks)), largest * s.block(), 0};
}

Cost binomial_scatter(const Problem& problem) {
    return {static_cast<double>(ceil_log2(problem.ranks)), Shape(problem).share(), 0};
}

Cost windowed(const Problem& problem) {
    return {window_rounds(problem), Shape(problem).share(), 0};
}

Cost bruck_all_to_all(const Problem& problem) {
    const Shape s(problem);
    double blocks = 0;
    for (int bit = 1; bit < problem.ranks; bit *= 2)
        for (int i = bit; i < problem.ranks; ++i)
            blocks += (i & bit) != 0 ? 1 : 0;
    return {static_cast<double>(ceil_log2(problem.ranks)), blocks * s.block(), 0};
}

Cost linear_scan(const Problem& problem) {
    const Shape s(problem);
    const double bytes = s.others() > 0 ? s.n : 0;
    return {s.others(), bytes, bytes};
}

Cost doubling_scan(const Problem& problem) {
    const Shape s(problem);
    const double rounds = ceil_log2(problem.ranks);
    return {rounds, rounds * s.n, algorithms::prefix_folds(problem.ranks - 1) * s.n};
}

Cost linear_exscan(const Problem& problem) {
    const Shape s(problem);
    return {s.others(), s.others() > 0 ? s.n : 0, s.others() > 1 ? s.n : 0};
}

Cost doubling_exscan(const Problem& problem) {
    const Shape s(problem);
    if (problem.ranks == 1) return {};
    const double rounds = 1 + ceil_log2(problem.ranks - 1);
    return {rounds, rounds * s.n, algorithms::prefix_folds(problem.ranks - 2) * s.n};
}

Cost ring_v(const Problem& problem) {
    const double bytes = all_but_shortest(problem);
    return {Shape(problem).others(), bytes, reduces(problem.collective) ? bytes : 0};
}

Cost linear_all_gather_v(const Problem& problem) {
    const Shape s(problem);
    return {s.others() > 0 ? 1.0 : 0.0, s.others() * bytes_of(problem, longest_block(problem)), 0};
}

Cost linear_gather_v(const Problem& problem) {
    std::uint64_t most = 0;
    for (Rank rank = 0; rank < problem.ranks; ++rank)
        if (rank != problem.root) most = std::max(most, problem.input_elements(rank));
    return {problem.ranks > 1 ? 1.0 : 0.0, bytes_of(problem, most), 0};
}

Cost linear_scatter_v(const Problem& problem) {
    const std::vector<std::uint64_t>& counts = problem.amounts->send;
    std::uint64_t sum = 0;
    for (std::size_t rank = 0; rank < counts.size(); ++rank)
        sum += rank == static_cast<std::size_t>(problem.root) ? 0 : counts[rank];
    return {problem.ranks > 1 ? 1.0 : 0.0, bytes_of(problem, sum), 0};
}

Cost windowed_v(const Problem& problem) {
    return {window_rounds(problem), most_sent(problem), 0};
}

Cost pairwise_v(const Problem& problem) {
    return {Shape(problem).others(), most_sent(problem), 0};
}

Cost one_message(const Problem& problem) {
    const std::uint64_t elements = problem.ranks > 1 ? problem.count : 0;
    return {problem.ranks > 1 ? 1.0 : 0.0, bytes_of(problem, elements), 0};
}

Cost batch(const Problem& problem) {
    std::map<Rank, std::uint64_t> sent;
    for (const Transfer& transfer : problem.amounts->transfers)
        if (transfer.is_send && transfer.peer != transfer.rank) sent[transfer.rank] += transfer.count;
    std::uint64_t most = 0;
    for (const auto& [rank, elements] : sent)
        most = std::max(most, elements);
    return {sent.empty() ? 0.0 : 1.0, bytes_of(problem, most), 0};
}

}  // namespace attune::collectives::costs
