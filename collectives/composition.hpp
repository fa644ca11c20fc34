// Composition is a function on programs: one after the other, on some of the ranks, in overlapping segments, in independent channels. Chunking is
// written once, here, and not once per algorithm.
#pragma once

#include "collectives/builder.hpp"
#include "collectives/schedule.hpp"

#include <functional>
#include <span>
#include <vector>

namespace attune::collectives {

// Programs have one channel by their type; only split() makes channels and its result cannot be composed further.

// `second` after `first`, its rounds shifted by first's. Both see the same scratch, so a phase can hand data to the next.
Program then(Program first, const Program& second);

// The program of `rank` when the ranks `members` run `generate` among themselves: generate(i) is the program of members[i], with ranks
// 0..members.size()-1. A rank that is no member has as many empty rounds. Members are distinct.
Program on_ranks(std::span<const Rank> members, Rank rank, const std::function<Program(Rank)>& generate);

// The program of an in-place problem within one that is not: whatever it reads of its input lies in the output.
Program reading_output(Program program);

// Segments of one problem, segment s one tick behind segment s-1: at tick t round t-s of every active segment runs, first all sends, then
// everything else in authored order. FIFO order is equal at both ends because ticks are. Each segment gets its own scratch range. At least one.
Program pipelined(std::span<const Program> segments);

// Independent programs, channel c runs channels[c]; each gets its own scratch range. 1 to max_channels of them; the slices they touch are disjoint.
Schedule split(std::span<const Program> channels);

}  // namespace attune::collectives
