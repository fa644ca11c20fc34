// How far clocks of different machines are apart, from questions and answers.
#pragma once

#include "libcore/trace.hpp"

#include <cstdint>
#include <span>

namespace attune::collectives {

inline constexpr int clock_questions = 32;  // for each other clock

// One question: sent and answered on the clock of who asked, read on the other one in between.
struct ClockAnswer {
    std::int64_t asked_ns = 0;
    std::int64_t other_ns = 0;
    std::int64_t answered_ns = 0;
};
// What to add to the other clock, from the answer that took least: the other clock was read somewhere between, in the middle if both ways took the same
// (Cristian, Probabilistic clock synchronization, 1989). At least one answer.
core::ClockOffset offset_from(std::span<const ClockAnswer> answers) noexcept;

}  // namespace attune::collectives
