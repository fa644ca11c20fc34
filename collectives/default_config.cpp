#include "collectives/default_config.hpp"

#include "collectives/node_map.hpp"
#include "libcore/error.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

namespace attune::collectives {

namespace {

constexpr std::uint64_t KiB = 1024, MiB = 1024 * KiB;
constexpr std::uint64_t any_bytes = std::numeric_limits<std::uint64_t>::max();
constexpr int any_ranks = std::numeric_limits<int>::max();

enum class Load : std::uint8_t { any, fits, crowded };  // crowded = more ranks than allowed CPUs

// The first line whose limits hold answers. Problem::key_bytes() is compared.
struct Line {
    Collective collective;
    Load load;
    int max_ranks;
    std::uint64_t max_bytes;
    std::string_view algorithm;
    std::uint64_t segment_bytes;
};

// One exchange for small messages; from there on two_shot moves 2 (p-1)/p instead of p-1 times the vector. Segments keep both phases in the caches and let
// them overlap; with more ranks than CPUs longer ones pay, because each synchronization may cost a context switch. Very large vectors get larger segments
// so that their number stays bounded. Direct exchanges won everywhere else on the machine the table was made on, but for long scans with more ranks than CPUs:
// a chain moves the vector p-1 times, recursive doubling p log2 p times.
using enum Collective;
constexpr std::array lines = {
    Line{all_reduce, Load::any, 2, 16 * KiB, "one_shot", 0},
    Line{all_reduce, Load::any, 8, 8 * KiB, "one_shot", 0},
    Line{all_reduce, Load::any, any_ranks, 2 * KiB, "one_shot", 0},
    Line{all_reduce, Load::any, any_ranks, 512 * KiB, "two_shot", 0},
    Line{all_reduce, Load::crowded, any_ranks, 2 * MiB, "two_shot", 0},
    Line{all_reduce, Load::fits, any_ranks, 256 * MiB, "two_shot", 256 * KiB},
    Line{all_reduce, Load::any, any_ranks, 1024 * MiB, "two_shot", 1 * MiB},
    Line{all_reduce, Load::any, any_ranks, any_bytes, "two_shot", 0},
    Line{all_gather, Load::any, any_ranks, any_bytes, "one_shot", 0},
    Line{reduce_scatter, Load::any, any_ranks, any_bytes, "one_shot", 0},
    Line{broadcast, Load::any, any_ranks, any_bytes, "linear", 0},
    Line{Collective::reduce, Load::any, any_ranks, any_bytes, "linear", 0},
    Line{gather, Load::any, any_ranks, any_bytes, "linear", 0},
    Line{scatter, Load::any, any_ranks, any_bytes, "linear", 0},
    Line{all_to_all, Load::any, any_ranks, any_bytes, "windowed", 0},
    Line{barrier, Load::any, 64, any_bytes, "one_shot", 0},
    Line{barrier, Load::any, any_ranks, any_bytes, "dissemination", 0},
    Line{scan, Load::any, any_ranks, 8 * KiB, "recursive_doubling", 0},
    Line{scan, Load::crowded, any_ranks, any_bytes, "linear", 0},
    Line{scan, Load::any, any_ranks, any_bytes, "recursive_doubling", 0},
    Line{exscan, Load::any, any_ranks, any_bytes, "recursive_doubling", 0},
    Line{all_gather_v, Load::any, any_ranks, any_bytes, "linear", 0},
    Line{reduce_scatter_v, Load::any, any_ranks, any_bytes, "ring", 0},
    Line{gather_v, Load::any, any_ranks, any_bytes, "linear", 0},
    Line{scatter_v, Load::any, any_ranks, any_bytes, "linear", 0},
    Line{all_to_all_v, Load::any, any_ranks, any_bytes, "windowed", 0},
    Line{send_recv, Load::any, any_ranks, any_bytes, "linear", 0},
    Line{batch_send_recv, Load::any, any_ranks, any_bytes, "linear", 0},
};

// With several nodes, of which some has several ranks, the links between nodes decide. Up to here one exchange waits for one message on the way, two levels
// for two. Above, two levels send each byte of the vector over a link once and back, the direct exchange of the table above twice: 0.6 of its time at 256 KiB
// on 2 x 2 ranks over 1 Gbit/s and 0.1 ms, 0.75 over loopback, and 0.7 and 0.8 of a ring's at 64 KiB (docs/network.md has the commands).
constexpr std::array lines_of_several_nodes = {
    Line{all_reduce, Load::any, 8, 8 * KiB, "one_shot", 0},
    Line{all_reduce, Load::any, any_ranks, 2 * KiB, "one_shot", 0},
    Line{all_reduce, Load::any, any_ranks, any_bytes, "two_level", 0},
};

// A map that does not fit is reject()'s to name, for whom asks for an algorithm that follows it.
bool has_levels(const Problem& problem) try {
    if (problem.node_map.empty()) return false;
    const NodeMap nodes = NodeMap::parse(problem.node_map);
    return nodes.ranks() == problem.ranks && nodes.nodes() > 1 && nodes.nodes() < nodes.ranks();
} catch (const core::Error&) {
    return false;
}

bool holds(const Line& line, const Problem& problem, bool crowded) {
    const bool load = line.load == Load::any || (line.load == Load::crowded) == crowded;
    return line.collective == problem.collective && load && problem.ranks <= line.max_ranks && problem.key_bytes() <= line.max_bytes;
}

}  // namespace

core::Config default_config(const Problem& problem, const core::Topology& topology) {
    const bool crowded = static_cast<std::size_t>(std::max(problem.ranks, 0)) > topology.allowed.cpus.size();
    const auto fits = [&](const Line& candidate) { return holds(candidate, problem, crowded); };
    const Line* line = std::ranges::find_if(lines, fits);
    if (has_levels(problem)) {
        const Line* const between = std::ranges::find_if(lines_of_several_nodes, fits);
        if (between != lines_of_several_nodes.end()) line = between;
    }
    core::Config config;
    config.set("algorithm", line->algorithm);
    config.set("segment_bytes", line->segment_bytes);
    config.set("channels", std::uint64_t{1});
    config.set("protocol", std::string_view("staged"));
    config.set("inline_bytes", 2 * KiB);
    config.set("staging_stores", std::string_view("cached"));
    return config;
}

}  // namespace attune::collectives
