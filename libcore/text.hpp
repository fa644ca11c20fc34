// Small text helpers: splitting, and the nearest right word for a wrong one.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attune::core {

// Pieces between separators; empty pieces are kept; an empty text gives no piece.
std::vector<std::string> split(std::string_view text, char separator);

// The pieces with the separator between them.
std::string join(std::span<const std::string> pieces, std::string_view separator);

// A to Z made small; everything else as it is.
std::string lower_case(std::string_view text);

// Foreign text made fit for one line of a message: control characters and backslashes become C escapes, and what exceeds `limit`
// characters is cut with "...".
std::string printable(std::string_view text, std::size_t limit = 120);

// The word as a shell takes it for one: itself when it is plain, else in single quotes.
std::string shell_word(std::string_view word);

// The candidate with the smallest edit distance (swaps of neighbours count one, capital letters nothing), or empty when none is within
// max(2, a third of the word's length).
std::string nearest(std::string_view word, std::span<const std::string> candidates);

// Returns word when it is one of the candidates, else throws Error(usage) naming the nearest or, when none is near, all of them.
std::string require_word(std::string_view what, std::string_view word, std::span<const std::string> candidates);

}  // namespace attune::core
