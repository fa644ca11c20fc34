// Exact validation of one rank's buffers: what goes in, what must come out, what must stay as it was. Comparisons are bitwise: no tolerance.
#pragma once

#include "collectives/problem.hpp"
#include "tuner/engine/expectation.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace attune::tuner::engine {

// `problem` is global: with the amounts of all ranks. Writes rank's input of round `round`; `memory` holds its input elements.
void write_input(const collectives::Problem& problem, int rank, std::uint64_t round, std::span<std::byte> memory);

struct Difference {
    std::uint64_t wrong = 0;  // elements
    std::string first;        // "element 17 is 3, expected 4"; empty when none
};
// How rank's output differs from the exact result of that round.
Difference compare_output(const collectives::Problem& problem, int rank, std::uint64_t round, std::span<const std::byte> output);
// How an input differs from what write_input() wrote.
Difference compare_input(const collectives::Problem& problem, int rank, std::uint64_t round, std::span<const std::byte> input);

// Fills with a pattern that is rare in results, so that an element nobody wrote is seen.
void poison(std::span<std::byte> memory) noexcept;
// Bytes [begin, end).
struct Range {
    std::size_t begin = 0, end = 0;
};
// Elements of `element_bytes` outside all ranges that are no longer poison.
Difference compare_poison(std::span<const std::byte> memory, std::vector<Range> written, std::size_t element_bytes);

// 64 bits of the content, for equality across ranks; no cryptographic strength.
std::uint64_t content_digest(std::span<const std::byte> memory) noexcept;

}  // namespace attune::tuner::engine
