#include "profiler/placement.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>

namespace attune::profiler {

namespace {

constexpr double least_gap = 1.5;     // ratio of neighbouring sorted round trips
constexpr double least_share = 0.02;  // of all samples, in every class
constexpr std::size_t least_count = 3;
constexpr std::size_t most_cuts = 3;

struct Gap {
    std::size_t right = 0;  // index of the first sample above the gap
    double ratio = 1;
};

// A time that is not positive and finite is a failed measurement.
std::vector<double> valid_sorted(std::span<const double> round_trips_ns) {
    std::vector<double> sorted;
    std::copy_if(round_trips_ns.begin(), round_trips_ns.end(), std::back_inserter(sorted), [](double ns) { return std::isfinite(ns) && ns > 0; });
    std::sort(sorted.begin(), sorted.end());
    return sorted;
}

std::vector<Gap> gaps_widest_first(const std::vector<double>& sorted) {
    std::vector<Gap> gaps;
    for (std::size_t i = 1; i < sorted.size(); ++i) {
        const double ratio = sorted[i] / sorted[i - 1];
        if (ratio >= least_gap) gaps.push_back({i, ratio});
    }
    std::stable_sort(gaps.begin(), gaps.end(), [](const Gap& a, const Gap& b) { return a.ratio > b.ratio; });
    return gaps;
}

// Whether a cut at `right` keeps both classes beside it large enough, given the ascending cuts taken before (with 0 and n at the ends).
bool leaves_enough(const std::vector<std::size_t>& taken, std::size_t right, std::size_t least) {
    const auto next = std::upper_bound(taken.begin(), taken.end(), right);
    return right - *(next - 1) >= least && *next - right >= least;
}

}  // namespace

PlacementCuts find_cuts(std::span<const double> round_trips_ns) {
    const std::vector<double> sorted = valid_sorted(round_trips_ns);
    const auto share = static_cast<std::size_t>(std::ceil(least_share * static_cast<double>(sorted.size())));
    const std::size_t least = std::max(least_count, share);
    std::vector<std::size_t> taken = {0, sorted.size()};
    for (const Gap& gap : gaps_widest_first(sorted)) {
        if (taken.size() == most_cuts + 2) break;
        if (!leaves_enough(taken, gap.right, least)) continue;
        taken.insert(std::upper_bound(taken.begin(), taken.end(), gap.right), gap.right);
    }
    PlacementCuts cuts;
    // The geometric mean leaves both neighbours the same factor of drift.
    for (std::size_t i = 1; i + 1 < taken.size(); ++i)
        cuts.upper_ns.push_back(std::sqrt(sorted[taken[i] - 1]) * std::sqrt(sorted[taken[i]]));
    return cuts;
}

std::string classify(const PlacementCuts& cuts, double round_trip_ns, bool oversubscribed) {
    if (oversubscribed) return "oversubscribed";
    const auto index = std::count_if(cuts.upper_ns.begin(), cuts.upper_ns.end(), [round_trip_ns](double upper) { return !(round_trip_ns <= upper); });
    return "c" + std::to_string(index);
}

}  // namespace attune::profiler
