// When a measurement may stop: interval narrow enough, or out of time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace attune::profiler {

struct StoppingRule {
    double relative_half_width = 0.02;  // of the 95 % median interval
    double confidence = 0.95;
    std::size_t minimum_samples = 10;
    std::size_t maximum_samples = 100000;
    std::int64_t budget_ns = 1'000'000'000;
};
enum class Stop : std::uint8_t { go_on, precise, out_of_samples, out_of_time };
Stop evaluate(const StoppingRule& rule, std::span<const double> samples, std::int64_t spent_ns);

}  // namespace attune::profiler
