// Placement classes: on shared or virtual machines the cores a job gets move; a block belongs to the class of its largest cache-line round
// trip between ring neighbours, and only samples of one class are compared. Numbers only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace attune::profiler {

// Upper bounds in ns between classes c0..c3, ascending; class i is round trip <= upper_ns[i], the last class is open. Empty = one class.
struct PlacementCuts {
    std::vector<double> upper_ns;
    friend bool operator==(const PlacementCuts&, const PlacementCuts&) = default;
};

// Cuts at gaps of at least 1.5x between neighbouring sorted round trips that leave at least 2 % of the samples (and 3) on each side; at most 3
// cuts, the widest gaps first.
PlacementCuts find_cuts(std::span<const double> round_trips_ns);
// "c0".."c3", or "oversubscribed".
std::string classify(const PlacementCuts& cuts, double round_trip_ns, bool oversubscribed);

}  // namespace attune::profiler
