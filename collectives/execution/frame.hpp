// What the parts of one call in flight share.
#pragma once

#include "collectives/plan.hpp"
#include "collectives/transport/direct.hpp"
#include "collectives/transport/transport.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace attune::collectives {

// A peer whose memory could not be reached, and why. Mostly it is gone.
struct Loss {
    Rank peer = -1;
    int error = 0;  // errno
};

// One step of a long direct copy; then other work has its turn.
inline constexpr std::uint64_t direct_step_bytes = std::uint64_t{512} << 10;

struct Frame {
    const Plan* plan = nullptr;
    std::array<std::byte*, 3> memory{};  // by Memory
    std::uint64_t call = 0;              // number
    std::uint64_t digest = 0;
    std::uint8_t slot = 0;
    bool streaming = false;  // stores of staged sends

    std::byte* at(Memory where, std::uint64_t offset) const noexcept { return memory[static_cast<std::size_t>(where)] + offset; }
};

}  // namespace attune::collectives
