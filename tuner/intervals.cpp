// A row over an interval claims sizes nobody measured, so its inner points are judged like its ends.
#include "tuner/intervals.hpp"

#include <bit>
#include <cmath>

namespace attune::tuner {
namespace {

bool same_choice(const TestedPoint& a, const TestedPoint& b) {
    return a.config == b.config && a.default_config == b.default_config && a.default_version == b.default_version && a.algorithm_version == b.algorithm_version;
}

// "Middle" is within a factor of 1.25 of the geometric mean: sizes are whole elements, and 8 B to 16 B has few of them.
bool near_middle(std::uint64_t low, std::uint64_t high, std::uint64_t bytes) {
    const double middle = std::sqrt(static_cast<double>(low) * static_cast<double>(high));
    const double ratio = static_cast<double>(bytes) / middle;
    return ratio > 0.8 && ratio < 1.25;
}

// Whether all of points[first..last], known to be proven for one choice, may be one row.
bool covered(std::span<const TestedPoint> points, std::size_t first, std::size_t last) {
    for (std::size_t middle = first + 1; middle < last; ++middle) {
        if (!near_middle(points[first].bytes, points[last].bytes, points[middle].bytes)) continue;
        for (std::size_t other = first + 1; other < last; ++other)
            if (other != middle && !std::has_single_bit(points[other].bytes)) return true;
    }
    return false;
}

// Several points of one size (an older config of another run) make the size ambiguous: no stretch runs over it.
bool unique_size(std::span<const TestedPoint> points, std::size_t index) {
    const bool before = index > 0 && points[index - 1].bytes == points[index].bytes;
    const bool after = index + 1 < points.size() && points[index + 1].bytes == points[index].bytes;
    return !before && !after;
}

}  // namespace

std::vector<std::uint64_t> probe_counts(std::uint64_t low_count, std::uint64_t high_count) {
    const auto middle = static_cast<std::uint64_t>(std::llround(std::sqrt(static_cast<double>(low_count) * static_cast<double>(high_count))));
    std::uint64_t off_grid = 3 * (high_count / 4);
    if (off_grid > 0) --off_grid;
    const auto inside = [&](std::uint64_t count) { return count > low_count && count < high_count; };
    if (!inside(middle) || !inside(off_grid) || middle == off_grid) return {};
    return {middle, off_grid};
}

std::vector<Stretch> stretches(std::span<const TestedPoint> points) {
    std::vector<Stretch> result;
    std::size_t first = 0;
    while (first < points.size()) {
        if (!points[first].reason.empty()) {
            ++first;
            continue;
        }
        std::size_t last = first;
        for (std::size_t next = first + 1; next < points.size(); ++next) {
            if (!points[next].reason.empty() || !same_choice(points[first], points[next]) || !unique_size(points, next)) break;
            if (covered(points, first, next)) last = next;
        }
        result.push_back({first, unique_size(points, first) ? last : first});
        first = result.back().last + 1;
    }
    return result;
}

}  // namespace attune::tuner
