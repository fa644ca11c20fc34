// The placement survey: how far apart do this machine's cores get, found once and kept.
#pragma once

#include "libcore/clock.hpp"
#include "profiler/placement.hpp"
#include "tuner/arena.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace attune::tuner {

struct SurveyOptions {
    std::int64_t limit_ns = 10'000'000'000;   // min(10 s, 10 % of the budget), inside the budget
    std::int64_t pause_ns = 5'000'000;        // between pings: the states last 1 to 10 s, so many pings in a row tell nothing new
    std::function<void(std::int64_t)> pause;  // sleeps; absent = back to back
    std::function<bool()> interrupted;        // absent = never
};
// Round trips until the limit; earlier, after 60 % of it, when the cuts of the first half are those of all within 20 %. Stops when the arena dies.
std::vector<double> survey(Arena& arena, core::Clock& clock, const SurveyOptions& options);

// Digest of the bounds, 16 hex digits; stable text of a cut set.
std::string cut_set_id(const profiler::PlacementCuts& cuts);

}  // namespace attune::tuner
