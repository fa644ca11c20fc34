#include "collectives/default_config.hpp"

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

bool holds(const Line& line, const Problem& problem, bool crowded) {
    const bool load = line.load == Load::any || (line.load == Load::crowded) == crowded;
    return line.collective == problem.collective && load && problem.ranks <= line.max_ranks && problem.key_bytes() <= line.max_bytes;
}

}  // namespace

core::Config default_config(const Problem& problem, const core::Topology& topology) {
    const bool crowded = static_cast<std::size_t>(std::max(problem.ranks, 0)) > topology.allowed.cpus.size();
    const auto line = std::ranges::find_if(lines, [&](const Line& candidate) { return holds(candidate, problem, crowded); });
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
