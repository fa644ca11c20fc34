// Pings spread over the survey's time, and the rule to end it early.
#include "tuner/survey.hpp"

#include "libcore/crypto.hpp"

#include <fmt/format.h>

#include <span>

namespace attune::tuner {
namespace {

bool alike(const profiler::PlacementCuts& a, const profiler::PlacementCuts& b) {
    if (a.upper_ns.size() != b.upper_ns.size()) return false;
    for (std::size_t i = 0; i < a.upper_ns.size(); ++i) {
        const double ratio = a.upper_ns[i] / b.upper_ns[i];
        if (ratio < 0.8 || ratio > 1.25) return false;
    }
    return true;
}

bool stable(std::span<const double> round_trips) {
    constexpr std::size_t enough = 100;
    if (round_trips.size() < enough) return false;
    return alike(profiler::find_cuts(round_trips.first(round_trips.size() / 2)), profiler::find_cuts(round_trips));
}

}  // namespace

std::vector<double> survey(Arena& arena, core::Clock& clock, const SurveyOptions& options) {
    std::vector<double> result;
    const std::int64_t start = clock.now_ns();
    while (arena.alive() && !(options.interrupted && options.interrupted())) {
        const std::int64_t spent = clock.now_ns() - start;
        if (spent >= options.limit_ns) break;
        if (spent > options.limit_ns * 6 / 10 && result.size() % 50 == 0 && stable(result)) break;
        const double round_trip = arena.ping();
        if (round_trip > 0) result.push_back(round_trip);
        if (options.pause) options.pause(options.pause_ns);
    }
    return result;
}

std::string cut_set_id(const profiler::PlacementCuts& cuts) {
    std::string text = "cuts";
    for (const double bound : cuts.upper_ns)
        text += fmt::format(" {:.17g}", bound);
    return core::hex(core::sha256(text)).substr(0, 16);
}

}  // namespace attune::tuner
