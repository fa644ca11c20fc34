// What questions and answers say about another clock.
#include "collectives/clock_comparison.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <vector>

namespace attune::collectives {
namespace {

TEST(ClockComparison, TheFastestAnswerCounts) {
    const std::vector<ClockAnswer> answers = {{1000, 51'400, 1200}, {2000, 52'050, 2100}, {3000, 54'000, 3900}};
    const core::ClockOffset offset = offset_from(answers);
    EXPECT_EQ(offset.ns, 2050 - 52'050);
    EXPECT_EQ(offset.error_ns, 51);
}

TEST(ClockComparison, TheErrorCoversEveryWayTheTimeMayHaveBeenSpent) {
    std::mt19937 random(3);
    std::uniform_int_distribution<std::int64_t> way(100, 100'000), apart(-1'000'000'000'000, 1'000'000'000'000);
    for (int turn = 0; turn < 1000; ++turn) {
        const std::int64_t behind = apart(random);  // of the other clock
        std::vector<ClockAnswer> answers;
        for (int question = 0; question < 5; ++question) {
            const std::int64_t asked = question * 1'000'000, arrived = asked + way(random);
            answers.push_back({asked, arrived - behind, arrived + way(random)});
        }
        const core::ClockOffset offset = offset_from(answers);
        EXPECT_LE(std::abs(offset.ns - behind), offset.error_ns);
    }
}

}  // namespace
}  // namespace attune::collectives
