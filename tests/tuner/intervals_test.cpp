#include "tuner/intervals.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace attune::tuner {
namespace {

TestedPoint point(std::uint64_t bytes, bool proven = true, const char* config = "algorithm=ring", const char* standard = "algorithm=one_shot") {
    TestedPoint result;
    result.bytes = bytes;
    result.config = core::Config::parse(config);
    result.default_config = core::Config::parse(standard);
    if (!proven) result.reason = "not proven";
    return result;
}

using Stretches = std::vector<Stretch>;

TEST(Stretches, EndsMiddleAndOffGridMakeOneRow) {
    const std::vector<TestedPoint> points{point(64), point(180), point(380), point(512)};
    EXPECT_EQ(stretches(points), (Stretches{{0, 3}}));
}

TEST(Stretches, TwoEndsAloneStayExactSizes) {
    const std::vector<TestedPoint> points{point(64), point(512)};
    EXPECT_EQ(stretches(points), (Stretches{{0, 0}, {1, 1}}));
}

TEST(Stretches, AMissingMiddleOrAMissingOffGridSizeStaysExact) {
    EXPECT_EQ(stretches(std::vector{point(64), point(380), point(512)}).size(), 3u);
    EXPECT_EQ(stretches(std::vector{point(64), point(180), point(512)}).size(), 3u);
    EXPECT_EQ(stretches(std::vector{point(64), point(180), point(256), point(512)}).size(), 4u) << "256 is on the grid";
}

TEST(Stretches, AnInnerFailureSplits) {
    EXPECT_EQ(stretches(std::vector{point(64), point(180, false), point(380), point(512)}), (Stretches{{0, 0}, {2, 2}, {3, 3}}));
    EXPECT_EQ(stretches(std::vector{point(64), point(180), point(380, false), point(512)}), (Stretches{{0, 0}, {1, 1}, {3, 3}}));
}

TEST(Stretches, AnotherConfigOrAnotherDefaultSplits) {
    const auto other = point(512, true, "algorithm=two_shot");
    EXPECT_EQ(stretches(std::vector{point(64), point(180), point(380), other}).size(), 4u);
    const auto standard = point(512, true, "algorithm=ring", "algorithm=two_shot");
    EXPECT_EQ(stretches(std::vector{point(64), point(180), point(380), standard}).size(), 4u);
}

TEST(Stretches, ChainsOfIntervalsJoin) {
    const std::vector<TestedPoint> points{point(64), point(180), point(380), point(512), point(1448), point(3068), point(4096)};
    EXPECT_EQ(stretches(points), (Stretches{{0, 6}}));
}

TEST(Stretches, NothingProvenGivesNothing) {
    EXPECT_TRUE(stretches(std::vector{point(64, false)}).empty());
    EXPECT_TRUE(stretches({}).empty());
}

TEST(ProbeCounts, LieInsideAndDiffer) {
    for (std::uint64_t low = 1; low < 5000; low = low * 3 + 1) {
        for (std::uint64_t high = low; high < 200000; high = high * 2 + 1) {
            const auto counts = probe_counts(low, high);
            ASSERT_TRUE(counts.empty() || counts.size() == 2);
            for (const auto count : counts) {
                EXPECT_GT(count, low);
                EXPECT_LT(count, high);
            }
            if (counts.size() == 2) {
                EXPECT_NE(counts[0], counts[1]);
            }
        }
    }
    EXPECT_EQ(probe_counts(16, 128), (std::vector<std::uint64_t>{45, 95}));
    EXPECT_TRUE(probe_counts(1, 2).empty());
}

TEST(ProbeCounts, OfTheDefaultLadderCoverTheirInterval) {
    for (std::uint64_t low = 2; low < 4'000'000; low *= 8) {
        std::vector<TestedPoint> points{point(low * 4), point(low * 32)};
        const auto counts = probe_counts(low, low * 8);
        ASSERT_EQ(counts.size(), 2u);
        for (const auto count : counts)
            points.push_back(point(count * 4));
        std::ranges::sort(points, {}, &TestedPoint::bytes);
        EXPECT_EQ(stretches(points), (Stretches{{0, 3}})) << low;
    }
}

}  // namespace
}  // namespace attune::tuner
