#include "libcore/samples.hpp"

#include "tests/support/expect_error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace attune::core {
namespace {

std::vector<double> one_to(std::size_t n) {
    std::vector<double> samples(n);
    std::iota(samples.begin(), samples.end(), 1.0);
    return samples;
}

// Counts all 2^n outcomes of n fair coins with at most k heads.
double brute_force_at_most(std::size_t n, std::size_t k) {
    std::size_t hits = 0;
    for (unsigned int outcome = 0; outcome < 1U << n; ++outcome)
        hits += static_cast<std::size_t>(__builtin_popcount(outcome)) <= k ? 1 : 0;
    return static_cast<double>(hits) / static_cast<double>(1U << n);
}

TEST(Quantile, InterpolatesBetweenSortedSamples) {
    const std::vector<double> samples = {4, 1, 3, 2};
    EXPECT_DOUBLE_EQ(quantile(samples, 0), 1);
    EXPECT_DOUBLE_EQ(quantile(samples, 1), 4);
    EXPECT_DOUBLE_EQ(median(samples), 2.5);
    EXPECT_DOUBLE_EQ(quantile(samples, 0.25), 1.75);
    EXPECT_DOUBLE_EQ(median(std::vector<double>{7}), 7);
    EXPECT_DOUBLE_EQ(quantile(std::vector<double>{7}, 0.99), 7);
    const double infinite = std::numeric_limits<double>::infinity();
    EXPECT_DOUBLE_EQ(median(std::vector<double>{1, 2, infinite}), 2);
}

TEST(Quantile, RefusesEmptyNotANumberAndOutside) {
    tests::expect_error(ErrorCode::failure, "no samples", [] { median({}); });
    tests::expect_error(ErrorCode::failure, "sample 2 of 2", [] { median(std::vector<double>{1, std::nan("")}); });
    for (const double q : {-0.1, 1.1, std::nan("")}) {
        tests::expect_error(ErrorCode::failure, "outside 0 to 1", [q] { quantile(std::vector<double>{1}, q); });
    }
}

// The usual table (for example Conover, "Practical nonparametric statistics"): 95 % ranks 2 and 9 of 10, 6 and 15 of 20, 40 and 61 of 100.
TEST(MedianInterval, HasTheTabulatedRanks) {
    const auto ranks = [](std::size_t n, double confidence) {
        const MedianInterval interval = median_interval(one_to(n), confidence);
        EXPECT_TRUE(interval.reached) << n;
        return std::pair(interval.low, interval.high);
    };
    EXPECT_EQ(ranks(6, 0.95), std::pair(1.0, 6.0));
    EXPECT_EQ(ranks(10, 0.95), std::pair(2.0, 9.0));
    EXPECT_EQ(ranks(20, 0.95), std::pair(6.0, 15.0));
    EXPECT_EQ(ranks(100, 0.95), std::pair(40.0, 61.0));
    EXPECT_EQ(ranks(8, 0.99), std::pair(1.0, 8.0));
}

TEST(MedianInterval, SaysWhenTheSamplesAreTooFew) {
    for (const std::size_t n : {1UL, 2UL, 5UL}) {
        const MedianInterval interval = median_interval(one_to(n), 0.95);
        EXPECT_FALSE(interval.reached) << n;
        EXPECT_EQ(interval.low, 1);
        EXPECT_EQ(interval.high, static_cast<double>(n));
        EXPECT_DOUBLE_EQ(interval.median, (1 + static_cast<double>(n)) / 2);
    }
    EXPECT_FALSE(median_interval(one_to(7), 0.99).reached);
}

TEST(MedianInterval, IsTheNarrowestThatReachesTheConfidence) {
    for (std::size_t n = 1; n <= 16; ++n) {
        for (const double confidence : {0.5, 0.9, 0.95, 0.99}) {
            const MedianInterval interval = median_interval(one_to(n), confidence);
            const auto low = static_cast<std::size_t>(interval.low);
            EXPECT_EQ(interval.high, static_cast<double>(n + 1 - low));
            const auto uncovered = [n](std::size_t rank) { return 2 * brute_force_at_most(n, rank - 1); };
            EXPECT_EQ(interval.reached, n > 1 && uncovered(1) <= 1 - confidence) << n << " " << confidence;
            if (!interval.reached) continue;
            EXPECT_LE(uncovered(low), 1 - confidence) << n << " " << confidence;
            // One rank further in would no longer reach it, or would cross the middle.
            EXPECT_TRUE(low + 1 > n - low || uncovered(low + 1) > 1 - confidence) << n << " " << confidence;
        }
    }
}

// The normal approximation puts the lower rank at n/2 - z root(n)/2; exact and approximate ranks differ by at most one or two.
TEST(MedianInterval, AgreesWithTheNormalApproximationOnManySamples) {
    for (const std::size_t n : {999UL, 1000UL, 1001UL, 1002UL, 5000UL, 100000UL}) {
        const MedianInterval interval = median_interval(one_to(n), 0.95);
        const double size = static_cast<double>(n);
        EXPECT_TRUE(interval.reached);
        EXPECT_NEAR(interval.low, size / 2 - 1.959964 * std::sqrt(size) / 2, 1.5) << n;
        EXPECT_DOUBLE_EQ(interval.low + interval.high, size + 1);
    }
}

TEST(MedianInterval, CoversTheTrueMedianAsOftenAsItSays) {
    std::mt19937 random(4);
    std::exponential_distribution<double> skewed(1);
    int covered = 0;
    constexpr int repetitions = 2000;
    for (int i = 0; i < repetitions; ++i) {
        std::vector<double> samples(25);
        for (double& x : samples)
            x = skewed(random);
        const MedianInterval interval = median_interval(samples, 0.95);
        covered += interval.low <= std::log(2.0) && std::log(2.0) <= interval.high ? 1 : 0;
    }
    EXPECT_GE(covered, repetitions * 94 / 100);
}

TEST(MedianInterval, RefusesAConfidenceThatIsNone) {
    for (const double confidence : {0.0, 1.0, -1.0, std::nan("")}) {
        tests::expect_error(ErrorCode::failure, "not between 0 and 1", [confidence] { median_interval(std::vector<double>{1, 2}, confidence); });
    }
}

TEST(SignTest, MatchesHandComputedValues) {
    EXPECT_DOUBLE_EQ(sign_test_above({}, 1), 1);
    EXPECT_DOUBLE_EQ(sign_test_above(std::vector<double>{2}, 1), 0.5);
    EXPECT_DOUBLE_EQ(sign_test_above(std::vector<double>(15, 2.0), 1), std::ldexp(1, -15));
    EXPECT_DOUBLE_EQ(sign_test_above(std::vector<double>{0, 0, 0}, 1), 1);
    EXPECT_DOUBLE_EQ(sign_test_above(std::vector<double>{2, 2, 2, 2, 0}, 1), 6.0 / 32);
    EXPECT_DOUBLE_EQ(sign_test_above(std::vector<double>{2, 1}, 1), 0.75) << "equal counts as not above";
}

TEST(SignTest, AgreesWithCountingAllOutcomes) {
    for (std::size_t n = 1; n <= 14; ++n) {
        for (std::size_t above = 0; above <= n; ++above) {
            std::vector<double> samples(n, 0.0);
            std::fill_n(samples.begin(), above, 2.0);
            const double expected = above == 0 ? 1 : 1 - brute_force_at_most(n, above - 1);
            EXPECT_NEAR(sign_test_above(samples, 1), expected, 1e-12) << n << " " << above;
        }
    }
}

TEST(SignTest, IsContinuousWhereTheMethodChanges) {
    const auto p_value = [](std::size_t n, std::size_t above) {
        std::vector<double> samples(n, 0.0);
        std::fill_n(samples.begin(), above, 2.0);
        return sign_test_above(samples, 1);
    };
    for (const std::size_t n : {1000UL, 1001UL, 20001UL, 100000UL}) {
        const double z = 2;  // P(Z >= 2) with the continuity correction
        const auto above = static_cast<std::size_t>(std::ceil(static_cast<double>(n) / 2 + z * std::sqrt(static_cast<double>(n)) / 2));
        const double corrected = (static_cast<double>(above) - 0.5 - static_cast<double>(n) / 2) / (std::sqrt(static_cast<double>(n)) / 2);
        EXPECT_NEAR(p_value(n, above), 0.5 * std::erfc(corrected / std::sqrt(2.0)), 5e-5) << n;
        EXPECT_NEAR(p_value(n, n / 2) + p_value(n, n - n / 2 + 1), 1, 1e-9) << "both tails of " << n;
        EXPECT_LT(p_value(n, n), 1e-200) << n;
    }
}

// The 15 p-values of Benjamini & Hochberg 1995, section 4.1: at 0.05 the first four are rejected.
TEST(BenjaminiHochberg, RejectsTheFirstFourOfThePapersExample) {
    const std::vector<double> p = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000};
    std::vector<bool> expected(p.size(), false);
    std::fill_n(expected.begin(), 4, true);
    EXPECT_EQ(benjamini_hochberg(p, 0.05), expected);
}

TEST(BenjaminiHochberg, StepsUpAndKeepsTheOrder) {
    // The first fails its own limit 0.05/3 but the last passes 0.05, so all are rejected.
    EXPECT_EQ(benjamini_hochberg(std::vector<double>{0.045, 0.02, 0.03}, 0.05), (std::vector<bool>{true, true, true}));
    EXPECT_EQ(benjamini_hochberg(std::vector<double>{0.9, 0.001, 0.8}, 0.05), (std::vector<bool>{false, true, false}));
    EXPECT_EQ(benjamini_hochberg(std::vector<double>{0.06}, 0.05), std::vector<bool>{false});
    EXPECT_TRUE(benjamini_hochberg({}, 0.05).empty());
    EXPECT_EQ(benjamini_hochberg(std::vector<double>{std::nan(""), 0.001}, 0.05), (std::vector<bool>{false, true}));
}

}  // namespace
}  // namespace attune::core
