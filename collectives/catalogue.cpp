#include "collectives/catalogue.hpp"

#include "collectives/algorithms/algorithms.hpp"
#include "collectives/costs.hpp"
#include "libcore/text.hpp"

#include <algorithm>
#include <array>

namespace attune::collectives {

namespace {

using namespace algorithms;
using namespace costs;

constexpr std::string_view thakur = "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH (2005)";
constexpr std::string_view patarasuk = "Patarasuk, Yuan: Bandwidth Optimal All-reduce Algorithms for Clusters of Workstations (2009)";
constexpr std::string_view bruck = "Bruck, Ho, Kipnis, Upfal, Weathersby: Efficient Algorithms for All-to-All Communications (1997)";
constexpr std::string_view hccl_mesh = "HCCL, mesh algorithm";
constexpr std::string_view pjesivac = "Pjesivac-Grbovic et al.: Performance Analysis of MPI Collective Operations (2007)";
constexpr std::string_view hensgen = "Hensgen, Finkel, Manber: Two Algorithms for Barrier Synchronization (1988)";
constexpr std::string_view rabenseifner = "Rabenseifner: Optimization of Collective Reduction Operations (2004)";
constexpr std::string_view han = "Luo et al.: HAN: a Hierarchical AutotuNed Collective Communication Framework (2020)";
constexpr std::string_view hillis = "Hillis, Steele: Data Parallel Algorithms (1986)";
constexpr std::string_view mpi = "MPI Forum: MPI: A Message-Passing Interface Standard, point-to-point communication and the v variants";

constexpr Constraints anything{};
constexpr Constraints whole_only{.segmentable = false, .splittable = false};
constexpr Constraints by_nodes{.uses_nodes = true};
constexpr Constraints apart{.in_place = false};
constexpr Constraints private_amounts{.in_place = false, .segmentable = false};  // segments would need counts that other ranks do not know

using enum Collective;
constexpr std::array table = {
    Algorithm{all_reduce, "one_shot", 1, anything, all_reduce_one_shot, one_shot_all_reduce, hccl_mesh},
    Algorithm{all_reduce, "two_shot", 1, anything, all_reduce_two_shot, two_shot, hccl_mesh},
    Algorithm{all_reduce, "ring", 1, anything, all_reduce_ring, ring_all_reduce, patarasuk},
    Algorithm{all_reduce, "recursive_doubling", 1, anything, all_reduce_recursive_doubling, doubling_all_reduce, thakur},
    Algorithm{all_reduce, "recursive_halving_doubling", 1, anything, all_reduce_recursive_halving_doubling, halving_doubling, rabenseifner},
    Algorithm{all_reduce, "two_level", 1, by_nodes, all_reduce_two_level, two_level, han},
    Algorithm{all_gather, "one_shot", 1, anything, all_gather_one_shot, mesh, hccl_mesh},
    Algorithm{all_gather, "ring", 1, anything, all_gather_ring, ring, thakur},
    Algorithm{all_gather, "bruck", 1, anything, all_gather_bruck, bruck_all_gather, bruck},
    Algorithm{all_gather, "recursive_doubling", 1, anything, all_gather_recursive_doubling, doubling_all_gather, thakur},
    Algorithm{reduce_scatter, "one_shot", 1, anything, reduce_scatter_one_shot, mesh, hccl_mesh},
    Algorithm{reduce_scatter, "ring", 1, anything, reduce_scatter_ring, ring, patarasuk},
    Algorithm{reduce_scatter, "recursive_halving", 1, anything, reduce_scatter_recursive_halving, halving, thakur},
    Algorithm{broadcast, "linear", 1, anything, broadcast_linear, linear_broadcast, pjesivac},
    Algorithm{broadcast, "binomial", 1, anything, broadcast_binomial, binomial_broadcast, thakur},
    Algorithm{broadcast, "chain", 1, anything, broadcast_chain, chain, pjesivac},
    Algorithm{broadcast, "scatter_all_gather", 1, anything, broadcast_scatter_all_gather, scatter_then_gather, thakur},
    Algorithm{reduce, "linear", 1, anything, reduce_linear, linear_reduce, pjesivac},
    Algorithm{reduce, "binomial", 1, anything, reduce_binomial, binomial_reduce, thakur},
    Algorithm{gather, "linear", 1, anything, gather_linear, linear_gather, pjesivac},
    Algorithm{gather, "binomial", 1, anything, gather_binomial, binomial_gather, thakur},
    Algorithm{scatter, "linear", 1, anything, scatter_linear, mesh, pjesivac},
    Algorithm{scatter, "binomial", 1, anything, scatter_binomial, binomial_scatter, thakur},
    Algorithm{all_to_all, "windowed", 1, anything, all_to_all_windowed, windowed, hccl_mesh},
    Algorithm{all_to_all, "pairwise", 1, anything, all_to_all_pairwise, ring, thakur},
    Algorithm{all_to_all, "bruck", 1, anything, all_to_all_bruck, bruck_all_to_all, bruck},
    Algorithm{barrier, "dissemination", 1, whole_only, barrier_dissemination, dissemination, hensgen},
    Algorithm{barrier, "one_shot", 1, whole_only, barrier_one_shot, mesh, hccl_mesh},
    Algorithm{scan, "recursive_doubling", 1, anything, scan_recursive_doubling, doubling_scan, hillis},
    Algorithm{scan, "linear", 1, anything, scan_linear, linear_scan, mpi},
    Algorithm{exscan, "recursive_doubling", 1, anything, exscan_recursive_doubling, doubling_exscan, hillis},
    Algorithm{exscan, "linear", 1, anything, exscan_linear, linear_exscan, mpi},
    Algorithm{all_gather_v, "ring", 1, anything, all_gather_v_ring, ring_v, thakur},
    Algorithm{all_gather_v, "linear", 1, anything, all_gather_v_linear, linear_all_gather_v, mpi},
    Algorithm{reduce_scatter_v, "ring", 1, anything, reduce_scatter_v_ring, ring_v, patarasuk},
    Algorithm{gather_v, "linear", 1, private_amounts, gather_v_linear, linear_gather_v, mpi},
    Algorithm{scatter_v, "linear", 1, private_amounts, scatter_v_linear, linear_scatter_v, mpi},
    Algorithm{all_to_all_v, "windowed", 1, apart, all_to_all_v_windowed, windowed_v, hccl_mesh},
    Algorithm{all_to_all_v, "pairwise", 1, apart, all_to_all_v_pairwise, pairwise_v, thakur},
    Algorithm{send_recv, "linear", 1, apart, send_recv_linear, one_message, mpi},
    Algorithm{batch_send_recv, "linear", 1, private_amounts, batch_send_recv_linear, batch, mpi},
};

struct Alias {
    Collective collective;
    std::string_view alias, name;
};
// Names that other systems use for the same exchange: HCCL (mesh, H-D_R, star), Open MPI (linear, pipeline, bruck barrier), the literature.
constexpr std::array aliases = {
    Alias{all_reduce, "mesh", "two_shot"},
    Alias{all_reduce, "direct", "one_shot"},
    Alias{all_reduce, "rabenseifner", "recursive_halving_doubling"},
    Alias{all_reduce, "H-D_R", "recursive_halving_doubling"},
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
    Alias{reduce, "star", "linear"},
    Alias{gather, "star", "linear"},
    Alias{scatter, "star", "linear"},
    Alias{all_to_all, "mesh", "windowed"},
    Alias{all_to_all, "linear", "windowed"},
    Alias{barrier, "bruck", "dissemination"},
    Alias{barrier, "mesh", "one_shot"},
    Alias{all_to_all_v, "linear", "windowed"},
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
