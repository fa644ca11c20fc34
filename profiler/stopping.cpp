#include "profiler/stopping.hpp"

#include "libcore/samples.hpp"

#include <cmath>

namespace attune::profiler {

namespace {

bool precise_enough(const StoppingRule& rule, std::span<const double> samples) {
    if (samples.empty() || samples.size() < rule.minimum_samples) return false;
    const core::MedianInterval interval = core::median_interval(samples, rule.confidence);
    return interval.reached && (interval.high - interval.low) / 2 <= rule.relative_half_width * std::abs(interval.median);
}

}  // namespace

// Precision first: what is precise at the last moment is precise. Time may run out below the minimum of samples.
Stop evaluate(const StoppingRule& rule, std::span<const double> samples, std::int64_t spent_ns) {
    if (precise_enough(rule, samples)) return Stop::precise;
    if (samples.size() >= rule.maximum_samples) return Stop::out_of_samples;
    if (spent_ns >= rule.budget_ns) return Stop::out_of_time;
    return Stop::go_on;
}

}  // namespace attune::profiler
