// Candidate 0: what runs when nothing was tuned.
#pragma once

#include "collectives/problem.hpp"
#include "libcore/config.hpp"
#include "libcore/topology.hpp"

#include <cstdint>

namespace attune::collectives {

inline constexpr std::uint32_t default_version = 2;  // grows when any answer changes

// Pure: no database, environment or clock. Answers every problem with a full config (algorithm, segment_bytes, channels, protocol, inline_bytes,
// staging_stores).
core::Config default_config(const Problem& problem, const core::Topology& topology);

}  // namespace attune::collectives
