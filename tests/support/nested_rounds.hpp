// Different collectives at once in nested and disjoint sub-communicators, several in flight in each.
#pragma once

#include "collectives/communicator.hpp"

#include <string>

namespace attune::test {

// In every round each communicator that this rank is a member of (the team, a copy, its halves, every other rank in reverse, halves of halves) starts three
// calls; ranks start and wait in orders of their own. Every result is compared. Some sub-communicators are remade on the way. Collective; empty = right.
std::string run_nested_rounds(collectives::Communicator& team, int rounds);

}  // namespace attune::test
