// Inputs whose reductions are exactly representable and distinct by position and rank, and what every element must become. Comparisons are bitwise: no
// tolerance.
#pragma once

#include "collectives/problem.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace attune::tuner::engine {

// Writes rank's input of round `round`; `memory` holds problem.input_elements() elements.
void write_input(const collectives::Problem& problem, int rank, std::uint64_t round, std::span<std::byte> memory);

struct Difference {
    std::uint64_t wrong = 0;  // elements
    std::string first;        // "element 17 is 3, expected 4"; empty when none
};
// How rank's output differs from the exact result of that round.
Difference compare_output(const collectives::Problem& problem, int rank, std::uint64_t round, std::span<const std::byte> output);
// How an input differs from what write_input() wrote.
Difference compare_input(const collectives::Problem& problem, int rank, std::uint64_t round, std::span<const std::byte> input);

// Fills with a pattern no result contains, so that an element nobody wrote is seen.
void poison(std::span<std::byte> memory) noexcept;
// 64 bits of the content, for equality across ranks; no cryptographic strength.
std::uint64_t content_digest(std::span<const std::byte> memory) noexcept;

}  // namespace attune::tuner::engine
