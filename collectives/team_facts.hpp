// What the ranks of a communicator tell each other before a transport exists, and the facts that follow for all of them alike.
#pragma once

#include "collectives/bootstrap.hpp"
#include "collectives/chooser.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attune::collectives {

inline constexpr std::string_view no_database = "none";  // RankFacts::databases of a rank that sees none

// One rank's part. Fields named "equal" must be the same on all ranks.
struct RankFacts {
    std::string transport;                    // equal
    int channels = max_channels;              // equal
    bool check_calls = false;                 // equal
    std::string forced;                       // equal; text of the forced choices
    core::CpuSet cpus;                        // this process may use now
    std::optional<core::CpuSet> launch_cpus;  // the launcher's before binding
    std::string instruction_set;
    std::string databases;                   // files it would use, in words; rank 0's apply
    std::optional<core::Topology> topology;  // rank 0's
    std::uint64_t identity = 0;              // rank 0's random number: names the communicator
};

struct TeamFacts {
    ChooserFacts chooser;
    bool oversubscribed = false;  // more ranks than CPUs in the union of their sets
    std::uint64_t identity = 0;
    std::string other_databases;  // a warning when some rank would use files that rank 0 would not, else empty
};

// Collective. Throws Error(usage) naming two ranks and both values when something that must be equal is not.
TeamFacts agree_on_facts(Bootstrap& bootstrap, const RankFacts& own);
// The same from all parts, in rank order. Pure.
TeamFacts combine(const std::vector<RankFacts>& ranks);

std::string serialize(const RankFacts& facts);
RankFacts parse_rank_facts(std::string_view text);  // throws Error(failure)
std::string text_of(const ForcedChoices& forced);
// The weaker of two instruction sets; an unknown one counts as the weakest.
std::string weaker_instruction_set(const std::string& a, const std::string& b);

}  // namespace attune::collectives
