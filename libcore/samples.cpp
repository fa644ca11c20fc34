#include "libcore/samples.hpp"

#include "libcore/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <math.h>
#include <numeric>

namespace attune::core {

namespace {

// Below this 2^-n and all terms built from it are normal numbers, so the sums are exact to rounding; above it the first term comes from the
// logarithm of the gamma function (relative error below 1e-9 at n = 1e5).
constexpr std::size_t exact_limit = 1000;

// ln P(B = k) for B ~ Binomial(n, 1/2). lgamma_r, because std::lgamma writes a global.
double log_probability(double n, double k) {
    int sign = 0;
    return lgamma_r(n + 1, &sign) - lgamma_r(k + 1, &sign) - lgamma_r(n - k + 1, &sign) - n * std::log(2.0);
}

// Walks k upward and keeps P(B = k) and P(B <= k). For large n it starts 15 root(n) below the middle, 30 standard deviations, where what
// is left out is below 1e-190.
class HalfBinomial {
public:
    explicit HalfBinomial(std::size_t n) : n_(n) {
        if (n <= exact_limit) {
            term_ = std::ldexp(1.0, -static_cast<int>(n));
        } else {
            const double size = static_cast<double>(n);
            k_ = static_cast<std::size_t>(std::max(0.0, size / 2 - 15 * std::sqrt(size)));
            term_ = std::exp(log_probability(size, static_cast<double>(k_)));
        }
        sum_ = term_;
    }
    std::size_t k() const { return k_; }
    double at_most_k() const { return std::min(sum_, 1.0); }
    void advance() {
        term_ *= static_cast<double>(n_ - k_) / static_cast<double>(k_ + 1);
        ++k_;
        sum_ += term_;
    }

private:
    std::size_t n_;
    std::size_t k_ = 0;
    double term_ = 1;
    double sum_ = 1;
};

double probability_at_most(std::size_t n, std::size_t k) {
    if (k >= n) return 1;
    HalfBinomial walk(n);
    if (k < walk.k()) return 0;
    while (walk.k() < k)
        walk.advance();
    return walk.at_most_k();
}

std::vector<double> sorted_copy(std::span<const double> samples) {
    if (samples.empty()) throw Error(ErrorCode::failure, "no samples: a quantile needs at least one");
    std::vector<double> sorted(samples.begin(), samples.end());
    const auto bad = std::find_if(sorted.begin(), sorted.end(), [](double x) { return std::isnan(x); });
    if (bad != sorted.end()) throw Error(ErrorCode::failure, fmt::format("sample {} of {} is not a number", bad - sorted.begin() + 1, sorted.size()));
    std::sort(sorted.begin(), sorted.end());
    return sorted;
}

double sorted_quantile(const std::vector<double>& sorted, double q) {
    if (!(q >= 0 && q <= 1)) throw Error(ErrorCode::failure, fmt::format("quantile {} is outside 0 to 1", q));
    const double position = q * static_cast<double>(sorted.size() - 1);
    const auto index = static_cast<std::size_t>(position);
    if (index + 1 >= sorted.size()) return sorted.back();
    const double fraction = position - static_cast<double>(index);
    // Without the product for whole positions an infinite neighbour would give infinity times zero.
    if (fraction == 0) return sorted[index];
    return sorted[index] + fraction * (sorted[index + 1] - sorted[index]);
}

}  // namespace

double quantile(std::span<const double> samples, double q) {
    return sorted_quantile(sorted_copy(samples), q);
}

double median(std::span<const double> samples) {
    return quantile(samples, 0.5);
}

// With the sorted samples x(1)..x(n), [x(l), x(n+1-l)] holds the median with probability 1 - 2 P(B <= l - 1): the largest l whose
// probability is still enough gives the narrowest interval.
MedianInterval median_interval(std::span<const double> samples, double confidence) {
    if (!(confidence > 0 && confidence < 1)) throw Error(ErrorCode::failure, fmt::format("confidence {} is not between 0 and 1", confidence));
    const std::vector<double> sorted = sorted_copy(samples);
    const std::size_t n = sorted.size();
    MedianInterval interval{sorted_quantile(sorted, 0.5), sorted.front(), sorted.back(), false};
    const double tail = (1 - confidence) / 2;
    HalfBinomial walk(n);
    std::size_t low_index = 0;
    while (walk.at_most_k() <= tail && walk.k() < n / 2) {
        interval.reached = true;
        low_index = walk.k();
        walk.advance();
    }
    interval.low = sorted[low_index];
    interval.high = sorted[n - 1 - low_index];
    return interval;
}

// P(B >= above) = P(B <= n - above).
double sign_test_above(std::span<const double> samples, double threshold) {
    const auto above = static_cast<std::size_t>(std::count_if(samples.begin(), samples.end(), [threshold](double x) { return x > threshold; }));
    return probability_at_most(samples.size(), samples.size() - above);
}

// Benjamini & Hochberg 1995: with the p-values in ascending order, all up to the last one with p(i) <= q i / m are rejected.
std::vector<bool> benjamini_hochberg(std::span<const double> p_values, double q) {
    std::vector<double> sorted;
    for (const double p : p_values)
        sorted.push_back(std::isnan(p) ? std::numeric_limits<double>::infinity() : p);
    std::sort(sorted.begin(), sorted.end());
    const auto m = static_cast<double>(sorted.size());
    double limit = -1;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        if (sorted[i] <= q * static_cast<double>(i + 1) / m) limit = sorted[i];
    }
    std::vector<bool> rejected;
    for (const double p : p_values)
        rejected.push_back(p <= limit);
    return rejected;
}

}  // namespace attune::core
