// What the ranks of a communicator tell each other before a transport exists, and the facts that follow for all of them alike.
#pragma once

#include "collectives/bootstrap.hpp"
#include "collectives/chooser.hpp"
#include "collectives/host.hpp"
#include "collectives/node_map.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attune::collectives {

inline constexpr std::string_view no_database = "none";  // RankFacts::databases of a rank that sees none

// One rank's part. Fields named "equal" must be the same on all ranks.
struct RankFacts {
    std::string transport;                    // equal; empty = the usual one
    int channels = max_channels;              // equal
    bool check_calls = false;                 // equal
    std::string forced;                       // equal; text of the forced choices
    std::string node_map;                     // equal; logical nodes, empty = the real ones
    Host host;                                // where it runs
    core::CpuSet cpus;                        // this process may use now
    std::optional<core::CpuSet> launch_cpus;  // the launcher's before binding
    std::string instruction_set;
    std::string databases;                   // files it would use, in words; rank 0's apply
    std::optional<core::Topology> topology;  // rank 0's
    std::uint64_t identity = 0;              // rank 0's random number: tells this communicator's messages from others'
    std::uint64_t next_number = 1;           // free in the rank's family
    bool traced = false;
};

struct TeamFacts {
    NodeMap nodes;  // its text is the chooser's
    ChooserFacts chooser;
    bool oversubscribed = false;  // on some machine there are more ranks than CPUs in the union of their sets
    std::uint64_t identity = 0;
    std::uint64_t number = 1;  // names the communicator; free on all ranks
    // Per rank the first one with the same clock; empty when all have rank 0's, or nobody traces and needs to know.
    std::vector<Rank> clock_of;
    std::string other_databases;  // a warning when some rank would use files that rank 0 would not, else empty
};

// Collective. Throws Error(usage) naming two ranks and both values when something that must be equal is not.
TeamFacts agree_on_facts(Bootstrap& bootstrap, const RankFacts& own);
// Collective: only the nodes, for who must know them before there is a communicator.
NodeMap agree_on_nodes(Bootstrap& bootstrap);
// The transport for a team that was told none: shm on one node, else mixed.
std::string_view usual_transport(const NodeMap& nodes) noexcept;
// The same from all parts, in rank order. Pure.
TeamFacts combine(const std::vector<RankFacts>& ranks);

std::string serialize(const RankFacts& facts);
RankFacts parse_rank_facts(std::string_view text);  // throws Error(failure)
std::string text_of(const ForcedChoices& forced);
// The weaker of two instruction sets; an unknown one counts as the weakest.
std::string weaker_instruction_set(const std::string& a, const std::string& b);

}  // namespace attune::collectives
