// All algorithms as one table: name, generator, constraints as data, parameters, citation. Adding one is a file, a declaration and a
// line here; verifier, tuner, --list and documentation pick it up.
#pragma once

#include "collectives/algorithms/part.hpp"
#include "collectives/builder.hpp"
#include "collectives/costs.hpp"
#include "collectives/problem.hpp"
#include "collectives/schedule.hpp"
#include "libcore/config.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attune::collectives {

struct Constraints {
    int minimum_ranks = 1;
    bool power_of_two_ranks = false;
    bool even_ranks = false;
    bool in_place = true;               // also works in place
    bool needs_buffered_sends = false;  // only when each message fits the window
    bool uses_nodes = false;            // follows Problem::node_map, which must name as many ranks
    bool segmentable = true;            // segment_bytes applies; with amounts only when all ranks know them
    bool splittable = true;             // channels applies
};

struct Algorithm {
    Collective collective;
    std::string_view name;
    std::uint32_t version;  // grows when any schedule of it changes
    Constraints constraints;
    Program (*program)(const Part&);
    Cost (*cost)(const Problem&);  // of one segment and one channel; with amounts of all ranks (view_of)
    std::string_view citation;
};

std::span<const Algorithm> catalogue() noexcept;
std::vector<const Algorithm*> algorithms_for(Collective collective);
// Null when there is none. Aliases (mesh, H-D_R, van_de_geijn, ...) are accepted by parse_algorithm only, and only while the algorithm they name is here.
const Algorithm* find_algorithm(Collective collective, std::string_view name) noexcept;
// Canonical name of a name or an alias; throws Error(usage) naming the nearest algorithm of this collective.
std::string parse_algorithm(Collective collective, std::string_view text);
std::vector<std::string> aliases_of(Collective collective, std::string_view name);

// How a problem is cut: every channel gets a contiguous part of the vector (or of each rank's block), every part is cut in segments.
struct Cut {
    std::uint64_t segment_elements = 0;  // 0 = one segment
    int channels = 1;
};
// segment_bytes counts bytes of the vector (all_reduce, broadcast), of one rank's block (all_gather, reduce_scatter), or with amounts of the longest block; the
// other blocks are cut in as many segments.
Cut cut_of(const Problem& problem, const core::Config& config);
inline constexpr std::uint64_t max_segments = 4096;
inline constexpr std::uint64_t min_segment_bytes = 64;

// Why the config cannot run the problem, or nothing. Covers unknown algorithm, constraints, axes that do not apply and values out of range.
std::optional<std::string> reject(const Problem& problem, const core::Config& config);

// The schedule of one rank: algorithm, then segments, then channels, composed. Pure: any rank can compute any other's. Throws Error(usage)
// with the text of reject().
Schedule generate(const Problem& problem, const core::Config& config, Rank rank);
// The same without the checks of reject(), for a cut that no config can name.
Schedule generate(const Problem& problem, const Algorithm& algorithm, const Cut& cut, Rank rank);

}  // namespace attune::collectives
