#include "profiler/placement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace attune::profiler {
namespace {

struct Cluster {
    double center_ns;
    int count;
};

// Uniform within 10 % around each centre, shuffled.
std::vector<double> mixture(std::initializer_list<Cluster> clusters, unsigned int seed = 1) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> around(0.9, 1.1);
    std::vector<double> samples;
    for (const Cluster& cluster : clusters) {
        for (int i = 0; i < cluster.count; ++i)
            samples.push_back(cluster.center_ns * around(random));
    }
    std::shuffle(samples.begin(), samples.end(), random);
    return samples;
}

void expect_cut_between(const PlacementCuts& cuts, std::size_t index, double low, double high) {
    ASSERT_LT(index, cuts.upper_ns.size());
    EXPECT_GT(cuts.upper_ns[index], low);
    EXPECT_LT(cuts.upper_ns[index], high);
}

TEST(FindCuts, SeparatesSiblingsSharedCacheAndFarCores) {
    for (unsigned int seed = 1; seed <= 20; ++seed) {
        const PlacementCuts cuts = find_cuts(mixture({{40, 10}, {110, 96}, {600, 94}}, seed));
        ASSERT_EQ(cuts.upper_ns.size(), 2U);
        expect_cut_between(cuts, 0, 44, 99);
        expect_cut_between(cuts, 1, 121, 540);
    }
}

TEST(FindCuts, ACutLiesAtTheGeometricMiddleOfItsGap) {
    const PlacementCuts cuts = find_cuts(std::vector<double>{100, 100, 100, 400, 400, 400});
    ASSERT_EQ(cuts.upper_ns.size(), 1U);
    EXPECT_NEAR(cuts.upper_ns[0], 200, 1e-9);
}

TEST(FindCuts, NoiseWithoutGapsIsOneClass) {
    std::mt19937 random(9);
    std::uniform_real_distribution<double> noise(50, 150);
    std::vector<double> samples(500);
    for (double& x : samples)
        x = noise(random);
    EXPECT_TRUE(find_cuts(samples).upper_ns.empty());
}

TEST(FindCuts, AGapBelowOneAndAHalfIsNone) {
    EXPECT_TRUE(find_cuts(std::vector<double>{100, 100, 100, 149, 149, 149}).upper_ns.empty());
    EXPECT_EQ(find_cuts(std::vector<double>{100, 100, 100, 150, 150, 150}).upper_ns.size(), 1U);
}

TEST(FindCuts, FewSamplesOrRareOutliersMakeNoClass) {
    EXPECT_TRUE(find_cuts({}).upper_ns.empty());
    EXPECT_TRUE(find_cuts(std::vector<double>{40}).upper_ns.empty());
    EXPECT_TRUE(find_cuts(std::vector<double>{40, 40, 600, 600}).upper_ns.empty()) << "two on each side are below three";
    EXPECT_TRUE(find_cuts(mixture({{110, 1000}, {90000, 19}})).upper_ns.empty()) << "19 of 1019 are below 2 %";
    EXPECT_EQ(find_cuts(mixture({{110, 1000}, {90000, 21}})).upper_ns.size(), 1U);
    EXPECT_TRUE(find_cuts(mixture({{5, 2}, {110, 50}})).upper_ns.empty());
}

TEST(FindCuts, AFewSamplesInAGapJoinOneSideAndMakeNoClassOfTheirOwn) {
    std::vector<double> samples(50, 100.0);
    samples.insert(samples.end(), 50, 1000.0);
    samples.push_back(300);
    const PlacementCuts cuts = find_cuts(samples);
    ASSERT_EQ(cuts.upper_ns.size(), 1U);
    EXPECT_NEAR(cuts.upper_ns[0], std::sqrt(300.0 * 1000.0), 1e-6) << "the wider of the two gaps";
}

TEST(FindCuts, KeepsTheThreeWidestOfMoreGaps) {
    std::vector<double> samples;
    for (const double center : {10.0, 20.0, 80.0, 400.0, 4000.0})
        samples.insert(samples.end(), 10, center);
    const PlacementCuts cuts = find_cuts(samples);
    ASSERT_EQ(cuts.upper_ns.size(), 3U);
    expect_cut_between(cuts, 0, 20, 80);
    expect_cut_between(cuts, 1, 80, 400);
    expect_cut_between(cuts, 2, 400, 4000);
}

TEST(FindCuts, FailedMeasurementsAreIgnored) {
    std::vector<double> samples = mixture({{40, 20}, {600, 20}});
    const PlacementCuts expected = find_cuts(samples);
    for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()})
        samples.insert(samples.begin(), 5, bad);
    EXPECT_EQ(find_cuts(samples), expected);
}

TEST(Classify, CountsTheCutsBelow) {
    const PlacementCuts cuts{{70, 250, 1000}};
    EXPECT_EQ(classify(cuts, 0, false), "c0");
    EXPECT_EQ(classify(cuts, 70, false), "c0") << "the bound belongs to the lower class";
    EXPECT_EQ(classify(cuts, 70.1, false), "c1");
    EXPECT_EQ(classify(cuts, 250.1, false), "c2");
    EXPECT_EQ(classify(cuts, 1e9, false), "c3");
    EXPECT_EQ(classify(cuts, std::nan(""), false), "c3");
    EXPECT_EQ(classify(cuts, 1, true), "oversubscribed");
    EXPECT_EQ(classify({}, 1e9, false), "c0");
}

TEST(Classify, PutsTheSurveysOwnSamplesIntoTheirClusters) {
    const std::vector<double> samples = mixture({{40, 50}, {110, 480}, {600, 470}});
    const PlacementCuts cuts = find_cuts(samples);
    std::vector<int> counts(3, 0);
    for (const double x : samples)
        ++counts.at(static_cast<std::size_t>(classify(cuts, x, false)[1] - '0'));
    EXPECT_EQ(counts, (std::vector<int>{50, 480, 470}));
}

}  // namespace
}  // namespace attune::profiler
