#include "collectives/catalogue.hpp"

#include "collectives/algorithms/algorithms.hpp"
#include "libcore/text.hpp"

#include <algorithm>
#include <array>

namespace attune::collectives {

namespace {

using namespace algorithms;

constexpr std::string_view thakur = "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH (2005)";
constexpr std::string_view patarasuk = "Patarasuk, Yuan: Bandwidth Optimal All-reduce Algorithms for Clusters of Workstations (2009)";
constexpr std::string_view bruck = "Bruck, Ho, Kipnis, Upfal, Weathersby: Efficient Algorithms for All-to-All Communications (1997)";
constexpr std::string_view hccl_mesh = "HCCL, mesh algorithm";
constexpr std::string_view pjesivac = "Pjesivac-Grbovic et al.: Performance Analysis of MPI Collective Operations (2007)";
constexpr std::string_view hensgen = "Hensgen, Finkel, Manber: Two Algorithms for Barrier Synchronization (1988)";

constexpr Constraints anything{};
constexpr Constraints whole_only{.segmentable = false, .splittable = false};

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

Cost mesh_cost(const Problem& problem) {
    const Shape s(problem);
    return {s.others() > 0 ? 1.0 : 0.0, s.share(), reduces(problem.collective) ? s.share() : 0};
}

Cost ring_cost(const Problem& problem) {
    const Shape s(problem);
    return {s.others(), s.share(), reduces(problem.collective) ? s.share() : 0};
}

Cost one_shot_all_reduce_cost(const Problem& problem) {
    const Shape s(problem);
    return {s.others() > 0 ? 1.0 : 0.0, s.others() * s.n, s.others() * s.n};
}

Cost two_shot_cost(const Problem& problem) {
    const Shape s(problem);
    return {s.others() > 0 ? 2.0 : 0.0, 2 * s.share(), s.share()};
}

Cost ring_all_reduce_cost(const Problem& problem) {
    const Shape s(problem);
    return {2 * s.others(), 2 * s.share(), s.share()};
}

Cost doubling_all_reduce_cost(const Problem& problem) {
    const Shape s(problem);
    const double exchanges = s.levels + s.folds();
    return {exchanges + s.folds(), exchanges * s.n, exchanges * s.n};
}

Cost doubling_all_gather_cost(const Problem& problem) {
    const Shape s(problem);
    return {s.levels + 2.0 * s.folds(), (s.doubled_blocks() + s.folds() * s.others()) * s.block(), 0};
}

Cost bruck_cost(const Problem& problem) {
    const Shape s(problem);
    return {static_cast<double>(ceil_log2(problem.ranks)), s.share(), 0};
}

Cost halving_cost(const Problem& problem) {
    const Shape s(problem);
    return {s.levels + 2.0 * s.folds(), s.folds() > 0 ? s.n : s.share(), s.doubled_blocks() * s.block() + s.folds() * s.n};
}

Cost linear_cost(const Problem& problem) {
    const Shape s(problem);
    return {s.others() > 0 ? 1.0 : 0.0, s.others() * s.n, 0};
}

Cost binomial_cost(const Problem& problem) {
    const double depth = ceil_log2(problem.ranks);
    return {depth, depth * static_cast<double>(problem.bytes()), 0};
}

Cost chain_cost(const Problem& problem) {
    const Shape s(problem);
    return {s.others(), s.others() > 0 ? s.n : 0, 0};
}

Cost scatter_all_gather_cost(const Problem& problem) {
    const Shape s(problem);
    return {ceil_log2(problem.ranks) + s.others(), 2 * s.share(), 0};
}

Cost dissemination_cost(const Problem& problem) {
    return {static_cast<double>(ceil_log2(problem.ranks)), 0, 0};
}

using enum Collective;
constexpr std::array<Algorithm, 17> table = {{
    {all_reduce, "one_shot", 1, anything, all_reduce_one_shot, one_shot_all_reduce_cost, hccl_mesh},
    {all_reduce, "two_shot", 1, anything, all_reduce_two_shot, two_shot_cost, hccl_mesh},
    {all_reduce, "ring", 1, anything, all_reduce_ring, ring_all_reduce_cost, patarasuk},
    {all_reduce, "recursive_doubling", 1, anything, all_reduce_recursive_doubling, doubling_all_reduce_cost, thakur},
    {all_gather, "one_shot", 1, anything, all_gather_one_shot, mesh_cost, hccl_mesh},
    {all_gather, "ring", 1, anything, all_gather_ring, ring_cost, thakur},
    {all_gather, "bruck", 1, anything, all_gather_bruck, bruck_cost, bruck},
    {all_gather, "recursive_doubling", 1, anything, all_gather_recursive_doubling, doubling_all_gather_cost, thakur},
    {reduce_scatter, "one_shot", 1, anything, reduce_scatter_one_shot, mesh_cost, hccl_mesh},
    {reduce_scatter, "ring", 1, anything, reduce_scatter_ring, ring_cost, patarasuk},
    {reduce_scatter, "recursive_halving", 1, anything, reduce_scatter_recursive_halving, halving_cost, thakur},
    {broadcast, "linear", 1, anything, broadcast_linear, linear_cost, pjesivac},
    {broadcast, "binomial", 1, anything, broadcast_binomial, binomial_cost, thakur},
    {broadcast, "chain", 1, anything, broadcast_chain, chain_cost, pjesivac},
    {broadcast, "scatter_all_gather", 1, anything, broadcast_scatter_all_gather, scatter_all_gather_cost, thakur},
    {barrier, "dissemination", 1, whole_only, barrier_dissemination, dissemination_cost, hensgen},
    {barrier, "one_shot", 1, whole_only, barrier_one_shot, mesh_cost, hccl_mesh},
}};

struct Alias {
    Collective collective;
    std::string_view alias, name;
};
// Names that other systems use for the same exchange: HCCL (mesh, H-D_R, star), Open MPI (linear, pipeline, bruck barrier), the literature.
constexpr std::array aliases = {
    Alias{all_reduce, "mesh", "two_shot"},
    Alias{all_reduce, "direct", "one_shot"},
    Alias{all_gather, "mesh", "one_shot"},
    Alias{all_gather, "direct", "one_shot"},
    Alias{all_gather, "linear", "one_shot"},
    Alias{all_gather, "H-D_R", "recursive_doubling"},
    Alias{reduce_scatter, "mesh", "one_shot"},
    Alias{reduce_scatter, "direct", "one_shot"},
    Alias{reduce_scatter, "H-D_R", "recursive_halving"},
    Alias{broadcast, "star", "linear"},
    Alias{broadcast, "pipeline", "chain"},
    Alias{broadcast, "scatter_ring_all_gather", "scatter_all_gather"},
    Alias{broadcast, "van_de_geijn", "scatter_all_gather"},
    Alias{barrier, "bruck", "dissemination"},
    Alias{barrier, "mesh", "one_shot"},
};

}  // namespace

std::span<const Algorithm> catalogue() noexcept {
    return table;
}

std::vector<const Algorithm*> algorithms_for(Collective collective) {
    std::vector<const Algorithm*> found;
    for (const Algorithm& algorithm : table) {
        if (algorithm.collective == collective) found.push_back(&algorithm);
    }
    return found;
}

const Algorithm* find_algorithm(Collective collective, std::string_view name) noexcept {
    const auto found = std::ranges::find_if(table, [&](const Algorithm& algorithm) { return algorithm.collective == collective && algorithm.name == name; });
    return found == table.end() ? nullptr : &*found;
}

std::string parse_algorithm(Collective collective, std::string_view text) {
    for (const Alias& alias : aliases) {
        if (alias.collective == collective && alias.alias == text) return std::string(alias.name);
    }
    std::vector<std::string> known;
    for (const Algorithm* algorithm : algorithms_for(collective))
        known.emplace_back(algorithm->name);
    return core::require_word(std::string(name_of(collective)) + " algorithm", text, known);
}

std::vector<std::string> aliases_of(Collective collective, std::string_view name) {
    std::vector<std::string> found;
    for (const Alias& alias : aliases) {
        if (alias.collective == collective && alias.name == name) found.emplace_back(alias.alias);
    }
    return found;
}

}  // namespace attune::collectives
