// Decides whether two schedules, or two plans, of one rank are the same program up to the order of independent steps. Shares nothing with the verifier:
// it knows no other rank, runs nothing and proves nothing.
#pragma once

#include "collectives/plan.hpp"
#include "collectives/schedule.hpp"

#include <cstdint>
#include <vector>

namespace attune::test {

// Canonical form of the dependency graph: one number per action, sorted. A node is a send to one peer or a fold. Its number covers what it does (slices
// in the user's memory, operands in order but for the first two, peers and channels of messages) and everything that must come before it:
// earlier messages of the same FIFO, and earlier accesses to the same elements of which one writes. A plan orders writes after sends only
// by the hazards it lists. Equal forms on all ranks mean equal programs. Malformed input gives a form equal to no well-formed one.
std::vector<std::uint64_t> dependency_form(const collectives::Problem& problem, const collectives::Schedule& schedule);
std::vector<std::uint64_t> dependency_form(const collectives::Plan& plan);

}  // namespace attune::test
