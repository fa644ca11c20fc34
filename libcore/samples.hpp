// Order statistics without distribution assumptions: the only statistics claims rest on.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace attune::core {

struct Interval {
    double low = 0;
    double high = 0;
};

// Linear-interpolated quantile, 0 <= q <= 1; the input need not be sorted. Throws Error(failure) on empty input.
double quantile(std::span<const double> samples, double q);
double median(std::span<const double> samples);

// Interval of the median from the binomial distribution of ranks (Hoefler & Belli 2015, rule 6). With too few samples for
// the confidence it is [min, max] and `exact` is false.
struct MedianInterval {
    double median = 0;
    double low = 0;
    double high = 0;
    bool reached = false;  // the confidence is really reached
};
MedianInterval median_interval(std::span<const double> samples, double confidence);

// One-sided sign test: probability, under "the median is <= threshold", of at least as many samples above the threshold. Samples
// equal to it count as not above.
double sign_test_above(std::span<const double> samples, double threshold);

// Benjamini-Hochberg: which hypotheses are rejected at false-discovery rate q (same order as p_values).
std::vector<bool> benjamini_hochberg(std::span<const double> p_values, double q);

}  // namespace attune::core
