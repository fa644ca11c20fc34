// Where the buffers of a rank's schedule lie once the aliasing of in-place calls is resolved.
#pragma once

#include "collectives/schedule.hpp"

#include <array>
#include <cstdint>

namespace attune::collectives {

// Where a local slice lives after aliasing is resolved: in place, every slice is in coordinates of the one user buffer.
enum class Memory : std::uint8_t { input, output, scratch };

// Where a buffer of the schedule lives: its memory, the byte it begins at there, and its elements.
struct Placement {
    Memory memory = Memory::input;
    std::uint64_t base = 0;
    std::uint64_t elements = 0;
};

// By BufferId, for the schedule of any rank.
std::array<Placement, 3> placements(const Problem& problem, const Schedule& schedule);

}  // namespace attune::collectives
