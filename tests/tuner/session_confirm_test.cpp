#include "tuner/session_confirm.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace attune::tuner {
namespace {

ConfirmItem item(std::uint64_t count, std::int64_t block_ns, double gain = 1.5, bool probe = false) {
    ConfirmItem result;
    result.problem.ranks = 2;
    result.problem.count = count;
    result.config = core::Config::parse("algorithm=ring");
    result.default_config = core::Config::parse("algorithm=one_shot");
    result.block_ns = block_ns;
    result.gain = gain;
    result.probe = probe;
    return result;
}

constexpr std::int64_t ms = 1'000'000;

bool holds(const ConfirmPlan& plan, std::uint64_t count) {
    return std::ranges::any_of(plan.items, [&](const auto& item) { return item.problem.count == count; });
}

TEST(PlanConfirm, CountsASizeOnceThoughItIsTestedAtTwoRoots) {
    std::vector<ConfirmItem> items{item(2, 20 * ms, 1.5), item(2, 20 * ms, 1.5), item(16, 30 * ms)};
    for (auto& one : items)
        one.problem.collective = collectives::Collective::broadcast, one.problem.ranks = 4;
    items[1].problem.root = 3;
    EXPECT_EQ(sizes_in(items), 2u);
    EXPECT_EQ(plan_confirm(items, 0).dropped, 2u);
    EXPECT_EQ(plan_confirm(items, 60'000 * ms).dropped, 0u);
}

TEST(PlanConfirm, TakesEverythingAndMoreLaunchesWhenThereIsTime) {
    const auto plan = plan_confirm({item(2, 10 * ms), item(16, 10 * ms)}, 60'000 * ms);
    EXPECT_EQ(plan.items.size(), 2u);
    EXPECT_EQ(plan.dropped, 0u);
    EXPECT_EQ(plan.launches, 5u);
    EXPECT_GE(plan.total(), 15u);
}

TEST(PlanConfirm, NeverPlansFewerBlocksOrLaunchesThanPublishingNeeds) {
    for (const std::int64_t time : {0 * ms, 100 * ms, 2000 * ms, 10'000 * ms}) {
        const auto plan = plan_confirm({item(2, 20 * ms), item(16, 30 * ms)}, time);
        EXPECT_GE(plan.launches, 3u);
        EXPECT_GE(plan.total(), 15u);
        EXPECT_EQ(plan.items.size() + plan.dropped, 2u);
    }
}

TEST(PlanConfirm, DropsProbesBeforeSizesAndLittlePromiseBeforeMuch) {
    const auto plan = plan_confirm({item(2, 20 * ms, 1.5), item(5, 20 * ms, 1.5, true), item(16, 20 * ms, 1.03), item(128, 60 * ms, 2)}, 5'600 * ms);
    EXPECT_TRUE(holds(plan, 2));
    EXPECT_TRUE(holds(plan, 128)) << "a large gain is worth a longer time";
    EXPECT_FALSE(holds(plan, 5));
}

TEST(PlanConfirm, WithoutTimeIsEmpty) {
    EXPECT_TRUE(plan_confirm({item(2, 20 * ms)}, 0).items.empty());
    EXPECT_TRUE(plan_confirm({}, 1000 * ms).items.empty());
}

TEST(RestorePlan, KeepsLaunchesBlocksAndItemsWhateverTimeIsLeft) {
    const std::vector<ConfirmItem> items{item(2, 20 * ms), item(16, 20 * ms), item(128, 900 * ms, 1.01)};
    const auto plan = plan_confirm(items, 6'000 * ms);
    ASSERT_EQ(plan.dropped, 1u);
    const auto restored = restore_plan(items, text_of(plan));
    EXPECT_EQ(restored.launches, plan.launches);
    EXPECT_EQ(restored.blocks, plan.blocks);
    EXPECT_EQ(restored.items.size(), 2u);
    EXPECT_FALSE(holds(restored, 128));
}

}  // namespace
}  // namespace attune::tuner
