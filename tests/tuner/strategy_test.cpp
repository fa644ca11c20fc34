#include "tuner/strategy.hpp"

#include "libcore/error.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

namespace attune::tuner {
namespace {

StrategySpace space_of(std::vector<std::size_t> family) {
    StrategySpace space;
    space.candidates = family.size();
    space.family = std::move(family);
    return space;
}

Observation good(std::size_t candidate, double gain, const std::string& placement = "c0") {
    return {.candidate = candidate, .usable = true, .kept = true, .gain = gain, .placement = placement};
}

TEST(ExhaustiveStrategy, AsksForEveryCandidateOnceBeforeAnyTwice) {
    auto strategy = make_strategy("exhaustive", space_of({0, 0, 1, 1, 2, 2, 3}));
    std::set<std::size_t> asked;
    for (std::size_t i = 1; i < 7; ++i) {
        EXPECT_FALSE(strategy->complete());
        const auto next = strategy->ask();
        ASSERT_TRUE(next);
        EXPECT_TRUE(asked.insert(*next).second);
        strategy->tell(good(*next, 1.0 + 0.01 * static_cast<double>(i)));
    }
    EXPECT_TRUE(strategy->complete());
    EXPECT_FALSE(asked.contains(0));
}

TEST(ExhaustiveStrategy, MeetsEveryFamilyBeforeTheSecondMemberOfAny) {
    auto strategy = make_strategy("exhaustive", space_of({0, 1, 1, 1, 2, 2, 3}));
    std::set<std::size_t> families;
    const std::vector<std::size_t> family{0, 1, 1, 1, 2, 2, 3};
    for (int i = 0; i < 3; ++i) {
        const auto next = strategy->ask().value();
        EXPECT_TRUE(families.insert(family[next]).second);
        strategy->tell(good(next, family[next] == 2 ? 2.0 : 1.0));
    }
    EXPECT_EQ(family[strategy->ask().value()], 2u) << "then the best family goes first";
}

TEST(ExhaustiveStrategy, NeverAsksForWhatFailed) {
    auto space = space_of({0, 1, 2, 3});
    space.known_bad = {false, true, false, false};
    auto strategy = make_strategy("exhaustive", space);
    for (int i = 0; i < 100; ++i) {
        const auto next = strategy->ask();
        if (!next) break;
        EXPECT_NE(*next, 1u);
        if (*next == 2)
            strategy->tell({.candidate = 2, .usable = false});
        else
            strategy->tell(good(*next, 1.5));
    }
    EXPECT_FALSE(strategy->ask());
    EXPECT_TRUE(strategy->complete());
}

TEST(ExhaustiveStrategy, EndsAlsoWhenEveryBlockIsDropped) {
    auto strategy = make_strategy("exhaustive", space_of({0, 1, 2}));
    int asked = 0;
    while (const auto next = strategy->ask()) {
        strategy->tell({.candidate = *next, .usable = true, .kept = false});
        ASSERT_LT(++asked, 100);
    }
    EXPECT_TRUE(strategy->complete());
}

TEST(ExhaustiveStrategy, DropsWhatIsClearlyWorseThanTheBest) {
    auto strategy = make_strategy("exhaustive", space_of({0, 1, 2, 3}));
    std::vector<int> blocks(4);
    while (const auto next = strategy->ask()) {
        ++blocks[*next];
        strategy->tell(good(*next, *next == 1 ? 2.0 : *next == 2 ? 1.9 : 1.2));
        ASSERT_LT(blocks[*next], 50);
    }
    EXPECT_EQ(blocks[3], 1);
    EXPECT_GT(blocks[1], 3);
    EXPECT_EQ(blocks[1], blocks[2]);
}

TEST(ExhaustiveStrategy, FindsThePlantedBestUnderNoise) {
    for (unsigned seed = 0; seed < 20; ++seed) {
        std::mt19937_64 random(seed);
        auto strategy = make_strategy("exhaustive", space_of(std::vector<std::size_t>(20, 0)));
        std::vector<std::vector<Observation>> seen(20);
        while (const auto next = strategy->ask()) {
            const double gain = (*next == 13 ? 1.6 : 1.0) * std::exp(std::normal_distribution<double>(0, 0.05)(random));
            seen[*next].push_back(good(*next, gain));
            strategy->tell(seen[*next].back());
        }
        std::size_t best = 0;
        for (std::size_t i = 1; i < 20; ++i)
            if (worst_class_gain(seen[i], 2).value() > (best == 0 ? 0 : worst_class_gain(seen[best], 2).value())) best = i;
        EXPECT_EQ(best, 13u) << "seed " << seed;
    }
}

TEST(ExhaustiveStrategy, AsksTheSameAfterAReplayOfAnyPrefix) {
    const auto answer = [](std::size_t candidate, std::size_t step) { return good(candidate, 1 + 0.1 * static_cast<double>((candidate * 7 + step * 3) % 5)); };
    const auto space = space_of({0, 1, 1, 2, 2, 3, 3});
    std::vector<Observation> all;
    auto whole = make_strategy("exhaustive", space);
    while (const auto next = whole->ask()) {
        all.push_back(answer(*next, all.size()));
        whole->tell(all.back());
    }
    ASSERT_GT(all.size(), 10u);
    for (std::size_t cut = 0; cut < all.size(); ++cut) {
        auto resumed = make_strategy("exhaustive", space);
        for (std::size_t i = 0; i < cut; ++i)
            resumed->tell(all[i]);
        for (std::size_t i = cut; i < all.size(); ++i) {
            ASSERT_EQ(resumed->ask(), all[i].candidate) << "cut " << cut << " step " << i;
            resumed->tell(all[i]);
        }
        EXPECT_FALSE(resumed->ask());
    }
}

TEST(ExhaustiveStrategy, HasNothingToAskInASpaceOfTheDefaultAlone) {
    auto strategy = make_strategy("exhaustive", space_of({0}));
    EXPECT_FALSE(strategy->ask());
    EXPECT_TRUE(strategy->complete());
}

TEST(StrategyNames, AWrongOneIsRefused) {
    EXPECT_THROW(make_strategy("exhausting", space_of({0})), core::Error);
}

TEST(WorstClassGain, IsTheSmallestMedianOfTheClassesSeenOftenEnough) {
    const std::vector<Observation> seen{good(1, 2.0, "c0"), good(1, 2.1, "c0"), good(1, 0.7, "c1"), good(1, 0.8, "c1"), good(1, 0.1, "c2")};
    EXPECT_DOUBLE_EQ(worst_class_gain(seen, 2).value(), 0.75);
    EXPECT_DOUBLE_EQ(worst_class_gain(seen, 3).value(), 0.8) << "no class is large enough: all blocks together";
    EXPECT_FALSE(worst_class_gain({}, 1));
}

}  // namespace
}  // namespace attune::tuner
