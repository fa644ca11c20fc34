#include "profiler/stopping.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace attune::profiler {
namespace {

TEST(Stopping, GoesOnWithoutSamplesUntilTimeIsUp) {
    const StoppingRule rule;
    EXPECT_EQ(evaluate(rule, {}, 0), Stop::go_on);
    EXPECT_EQ(evaluate(rule, {}, rule.budget_ns - 1), Stop::go_on);
    EXPECT_EQ(evaluate(rule, {}, rule.budget_ns), Stop::out_of_time);
}

TEST(Stopping, EqualSamplesArePreciseAtTheMinimumNotBefore) {
    const StoppingRule rule;
    EXPECT_EQ(evaluate(rule, std::vector<double>(9, 5.0), 0), Stop::go_on);
    EXPECT_EQ(evaluate(rule, std::vector<double>(10, 5.0), 0), Stop::precise);
    EXPECT_EQ(evaluate(rule, std::vector<double>(10, 5.0), rule.budget_ns), Stop::precise) << "precise in the last moment is precise";
    EXPECT_EQ(evaluate(rule, std::vector<double>(10, 0.0), 0), Stop::precise) << "a median of zero divides nothing";
}

TEST(Stopping, TooFewSamplesForTheConfidenceAreNeverPrecise) {
    StoppingRule rule;
    rule.minimum_samples = 0;
    EXPECT_EQ(evaluate(rule, std::vector<double>(5, 5.0), 0), Stop::go_on) << "the 95 % interval needs six";
    EXPECT_EQ(evaluate(rule, std::vector<double>(6, 5.0), 0), Stop::precise);
    EXPECT_EQ(evaluate(rule, {}, 0), Stop::go_on);
}

// Of ten samples the 95 % interval is the second to the ninth: here 98 to 102, half width exactly 2 % of 100.
TEST(Stopping, TheBoundOfTheWidthIsIncluded) {
    const std::vector<double> samples = {90, 98, 98, 100, 100, 100, 100, 102, 102, 110};
    StoppingRule rule;
    EXPECT_EQ(evaluate(rule, samples, 0), Stop::precise);
    rule.relative_half_width = 0.0199;
    EXPECT_EQ(evaluate(rule, samples, 0), Stop::go_on);
}

TEST(Stopping, WideSamplesEndAtTheirMaximumBeforeTheTime) {
    StoppingRule rule;
    rule.maximum_samples = 12;
    std::vector<double> samples;
    for (int i = 0; i < 11; ++i)
        samples.push_back(i % 2 == 0 ? 1 : 100);
    EXPECT_EQ(evaluate(rule, samples, 0), Stop::go_on);
    samples.push_back(1);
    EXPECT_EQ(evaluate(rule, samples, 0), Stop::out_of_samples);
    EXPECT_EQ(evaluate(rule, samples, rule.budget_ns), Stop::out_of_samples);
}

TEST(Stopping, NoisySamplesBecomePreciseWhenTheyAreMany) {
    std::mt19937 random(10);
    std::normal_distribution<double> noise(100, 10);
    std::vector<double> samples;
    while (evaluate({}, samples, 0) == Stop::go_on)
        samples.push_back(noise(random));
    EXPECT_EQ(evaluate({}, samples, 0), Stop::precise);
    // The half width of the median's interval is about 1.96 * 1.253 * 10 / root(n): 2 below n = 200.
    EXPECT_GE(samples.size(), 30U);
    EXPECT_LE(samples.size(), 500U);
}

}  // namespace
}  // namespace attune::profiler
