// Which earlier sends still read what a fold is about to write.
#pragma once

#include "collectives/plan.hpp"

#include <cstdint>
#include <vector>

namespace attune::collectives {

// Lists the hazards of every fold of one channel of `plan`, whose operations must be complete up to channel_begin[channel + 1]. A send that one fold
// waits for is over, so no later fold lists it again: every hazard listed is needed. O(n log n + hazards).
void list_hazards(Plan& plan, int channel);

}  // namespace attune::collectives
