// The cache of compiled calls: found by key, bounded by number and by bytes, least recently used out.
#include "collectives/call_cache.hpp"

#include <gtest/gtest.h>

namespace attune::collectives {
namespace {

CallKey key_with_count(std::uint64_t count) {
    Problem problem;
    problem.count = count;
    return key_of_call(problem, 0);
}

CachedCall call_with_digest(std::uint64_t digest, std::size_t operations = 0) {
    Plan plan;
    plan.operations.resize(operations);
    CachedCall call;
    call.plan = std::make_shared<const Plan>(std::move(plan));
    call.digest = digest;
    return call;
}

TEST(CallCacheTest, FindsWhatWasInserted) {
    CallCache cache;
    EXPECT_EQ(cache.find(key_with_count(1)), nullptr);
    cache.insert(key_with_count(1), call_with_digest(11));
    cache.insert(key_with_count(2), call_with_digest(22));
    ASSERT_NE(cache.find(key_with_count(1)), nullptr);
    EXPECT_EQ(cache.find(key_with_count(1))->digest, 11U);
    EXPECT_EQ(cache.find(key_with_count(2))->digest, 22U);
}

TEST(CallCacheTest, KeepsAtMostTheLimitAndDropsTheLeastRecentlyUsed) {
    CallCache cache;
    for (std::uint64_t count = 0; count < CallCache::plan_limit; ++count)
        cache.insert(key_with_count(count), call_with_digest(count));
    ASSERT_NE(cache.find(key_with_count(0)), nullptr);
    cache.insert(key_with_count(5000), call_with_digest(5000));
    EXPECT_EQ(cache.size(), CallCache::plan_limit);
    EXPECT_NE(cache.find(key_with_count(0)), nullptr);
    EXPECT_EQ(cache.find(key_with_count(1)), nullptr);
    EXPECT_NE(cache.find(key_with_count(5000)), nullptr);
}

TEST(CallCacheTest, StaysBelowTheLimitOfBytesUnlessOnePlanIsLarger) {
    CallCache cache;
    const std::size_t quarter = CallCache::byte_limit / 4 / sizeof(Operation);
    for (std::uint64_t count = 0; count < 10; ++count) {
        cache.insert(key_with_count(count), call_with_digest(count, quarter));
        EXPECT_LE(cache.bytes(), CallCache::byte_limit);
    }
    EXPECT_EQ(cache.size(), 3U);
    cache.insert(key_with_count(99), call_with_digest(99, quarter * 5));
    EXPECT_EQ(cache.size(), 1U);
    EXPECT_EQ(cache.find(key_with_count(99))->digest, 99U);
    EXPECT_EQ(cache.find(key_with_count(9)), nullptr);
}

TEST(CallCacheTest, FieldsThatDoNotMatterDoNotTellCallsApart) {
    Problem a, b;
    b.root = 3;
    EXPECT_EQ(key_of_call(a, 0), key_of_call(b, 0));
    a.collective = b.collective = Collective::broadcast;
    EXPECT_NE(key_of_call(a, 0), key_of_call(b, 0));
    b.root = 0;
    b.op = core::Op::max;
    EXPECT_EQ(key_of_call(a, 0), key_of_call(b, 0));
    EXPECT_NE(key_of_call(a, 0), key_of_call(a, 1));
    EXPECT_EQ(CallKeyHash{}(key_of_call(a, 0)), CallKeyHash{}(key_of_call(b, 0)));
}

Problem exchange(std::vector<std::uint64_t> send) {
    Problem problem;
    problem.collective = Collective::all_to_all_v;
    const auto amounts = std::make_shared<Amounts>();
    amounts->send = amounts->receive = std::move(send);
    problem.amounts = amounts;
    return problem;
}

TEST(CallCacheTest, AmountsAreComparedByContent) {
    CallCache cache;
    cache.insert(key_of_call(exchange({1, 2}), 0), call_with_digest(12));
    cache.insert(key_of_call(exchange({2, 1}), 0), call_with_digest(21));
    ASSERT_NE(cache.find(key_of_call(exchange({1, 2}), 0)), nullptr);
    EXPECT_EQ(cache.find(key_of_call(exchange({1, 2}), 0))->digest, 12U);
    EXPECT_EQ(cache.find(key_of_call(exchange({2, 1}), 0))->digest, 21U);
    EXPECT_EQ(cache.find(key_of_call(exchange({1, 2, 0}), 0)), nullptr);
}

TEST(CallCacheTest, TotalsStayBoundedHoweverDifferentTheCallsAre) {
    CallCache cache;
    CallTotals& first = cache.totals(key_of_call(exchange({0, 1}), 0), exchange({0, 1}), {});
    for (std::uint64_t count = 0; count < 2 * CallCache::totals_limit; ++count) {
        EXPECT_EQ(&cache.totals(key_of_call(exchange({count, 1}), 0), exchange({count, 1}), {}), &first);
        ++cache.totals(key_with_count(count), {}, {}).calls;
    }
    EXPECT_LE(cache.all_totals().size(), CallCache::totals_limit + 1);
    std::uint64_t calls = 0;
    for (const auto& [key, totals] : cache.all_totals())
        calls += totals.calls;
    EXPECT_EQ(calls, 2 * CallCache::totals_limit);
}

TEST(CallCacheTest, TotalsOutliveThePlan) {
    CallCache cache;
    Problem problem;
    CallTotals& totals = cache.totals(key_with_count(0), problem, {});
    totals.calls = 7;
    for (std::uint64_t count = 0; count < 2 * CallCache::plan_limit; ++count)
        cache.insert(key_with_count(count), call_with_digest(count));
    EXPECT_EQ(cache.totals(key_with_count(0), problem, {}).calls, 7U);
    EXPECT_EQ(&cache.totals(key_with_count(0), problem, {}), &totals);
}

}  // namespace
}  // namespace attune::collectives
