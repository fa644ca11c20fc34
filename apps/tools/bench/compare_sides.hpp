// The two sides of --compare: default, tuned, or a choice such as ring or two_level:segment_bytes=64K.
#pragma once

#include "apps/tools/bench/machine.hpp"
#include "collectives/chooser.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace attune::tools::bench {

bool is_default_against_tuned(const std::vector<std::string>& sides);

// "[COLLECTIVE:]ALGORITHM[:KEY=VALUE]..." as a choice for this collective; without an algorithm it changes the default. Throws core::Error(usage).
collectives::ForcedChoices parse_side(std::string_view text, collectives::Collective collective);

// What the side chooses for the problem. Throws core::Error(usage) when that is impossible.
collectives::Choice choice_of_side(const std::string& side, const collectives::Problem& problem, const Machine& machine,
                                   const collectives::ChooserFacts& facts);

}  // namespace attune::tools::bench
