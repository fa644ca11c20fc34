// Small text helpers: splitting, and the nearest right word for a wrong one.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attune::core {

// Pieces between separators; empty pieces are kept; an empty text gives no piece.
std::vector<std::string> split(std::string_view text, char separator);

// The candidate with the smallest edit distance (swaps of neighbours count one), or empty when none is within
// max(2, a third of the word's length).
std::string nearest(std::string_view word, std::span<const std::string> candidates);

// Returns word when it is one of the candidates, else throws the `usage` Error of unknown_word().
std::string require_word(std::string_view what, std::string_view word, std::span<const std::string> candidates);

}  // namespace attune::core
