// Proves schedule sets and plan sets by one symbolic walk: the postcondition of every element, matching, ranges, reads before writes, conflicts
// between channels, agreement of reduction trees, and freedom from deadlock under four models of sending.
#pragma once

#include "collectives/plan.hpp"
#include "collectives/schedule.hpp"

#include <optional>
#include <span>
#include <string>

namespace attune::collectives {

enum class SendModel : std::uint8_t {
    buffered,    // a send never waits
    rendezvous,  // a send is done when its receiver reads it
    windowed,    // one fragment per peer and channel, every message in three fragments; a multicast fragment is freed when all peers read it
    put_posted,  // the sender writes into the slice its receiver posted at call start, or when its turn comes
};

// Nothing when proved, else one line: rank, step, what is wrong. `schedules[r]` belongs to rank r. All four models, postcondition and agreement.
std::optional<std::string> refute(const Problem& problem, std::span<const Schedule> schedules);
std::optional<std::string> refute(const Problem& problem, std::span<const Plan> plans);

}  // namespace attune::collectives
