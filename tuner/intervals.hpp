// Intervals of sizes from proven points: both ends, the middle and one off-grid size must hold (design, "Never slower", c).
#pragma once

#include "tuner/publish.hpp"

#include <span>
#include <utility>
#include <vector>

namespace attune::tuner {

// Element counts to test between two neighbouring sizes that share a winner: the geometric middle and 3/4 of the larger less one element. Empty
// when there is no room for two.
std::vector<std::uint64_t> probe_counts(std::uint64_t low_count, std::uint64_t high_count);

// A maximal stretch of points of one key that may be one row, as [first, last] indices into points sorted by size.
struct Stretch {
    std::size_t first = 0, last = 0;
    friend bool operator==(const Stretch&, const Stretch&) = default;
};
// `points`: all points tested for one key, ascending sizes. Points that are not proven, or have another config or default, end a stretch.
// A stretch longer than one point needs, between its ends, a proven point near the geometric middle and another one off the powers of two.
std::vector<Stretch> stretches(std::span<const TestedPoint> points);

}  // namespace attune::tuner
