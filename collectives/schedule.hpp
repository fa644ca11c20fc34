// A collective is data: the flat list of steps one rank performs. Generators write it, the verifier, the simulator and the plan
// compiler read it.
#pragma once

#include "collectives/problem.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace attune::collectives {

enum class StepKind : std::uint8_t {
    send,    // source slice -> peer
    recv,    // next message of peer -> destination slice (or, joined, one more source of the fold)
    reduce,  // joined only: a local source slice, or the destination itself when source == destination
    copy,    // local source slice -> destination slice
    scale,   // last of a fold, or alone: destination /= ranks (avg), once, at the owner
};

enum class BufferId : std::uint8_t { input, output, scratch };

// Offsets and length count elements. A run of joined steps with the step before it is a fold: dst = s0 + s1 + ... in program order;
// the first step is a copy or a recv, the others are reduce or recv with the same destination, length and channel. A fold reads every source
// element before it writes that element. Step format 1.
struct Step {
    StepKind kind = StepKind::copy;
    bool joined = false;  // same fold as the previous step
    std::uint8_t channel = 0;
    BufferId source : 4 = BufferId::input;        // send, reduce, copy
    BufferId destination : 4 = BufferId::output;  // recv, reduce, copy, scale
    Rank peer = -1;                               // send, recv
    std::uint64_t source_offset = 0;
    std::uint64_t destination_offset = 0;
    std::uint64_t length = 0;

    friend bool operator==(const Step&, const Step&) = default;
};
static_assert(sizeof(Step) == 32);

inline constexpr int max_channels = 4;

// Steps of one rank. Channels are independent programs, each completing in program order; slices of different channels are disjoint.
// Out of place, `input` is never a destination.
struct Schedule {
    Rank rank = 0;
    std::uint64_t scratch_elements = 0;
    std::vector<Step> steps;
};

// "send 3 output[0,8) ch0": one line per step, for errors and dumps.
std::string describe(const Step& step);

}  // namespace attune::collectives
