// The default answers every problem with a full config that can run it.
#include "collectives/default_config.hpp"

#include "collectives/catalogue.hpp"
#include "collectives/node_map.hpp"
#include "collectives/sample_amounts.hpp"

#include <gtest/gtest.h>

namespace attune::collectives {
namespace {

core::Topology machine(int cpus) {
    core::Topology topology;
    for (int cpu = 0; cpu < cpus; ++cpu)
        topology.allowed.cpus.push_back(cpu);
    return topology;
}

std::vector<std::uint64_t> counts_for(int ranks) {
    const auto p = static_cast<std::uint64_t>(ranks);
    std::vector<std::uint64_t> counts = {0, 1, p - 1, p, p + 1, 1009};
    for (std::uint64_t count = 1; count <= (std::uint64_t{1} << 40); count *= 2)
        counts.push_back(count);
    return counts;
}

class DefaultConfigTest : public testing::TestWithParam<int> {};

TEST_P(DefaultConfigTest, IsFullAndAcceptedForEveryProblem) {
    const int ranks = GetParam();
    for (const Collective collective : all_collectives()) {
        for (const std::uint64_t count : counts_for(ranks)) {
            for (const bool in_place : {false, true}) {
                if (in_place && !has_in_place(collective)) continue;
                Problem problem;
                problem.collective = collective;
                problem.ranks = ranks;
                problem = with_sample_amounts(problem, AmountsShape::uneven, has_amounts(collective) ? count % 5000 : count);
                problem.dtype = count % 2 == 0 ? core::DType::int64 : core::DType::float32;
                problem.root = is_rooted(collective) ? ranks - 1 : 0;
                problem.in_place = in_place;
                for (const int cpus : {1, 2, 64}) {
                    const core::Config config = default_config(problem, machine(cpus));
                    ASSERT_EQ(reject(problem, config), std::nullopt) << name_of(collective) << " " << count << " " << config.text();
                    for (const char* axis : {"algorithm", "segment_bytes", "channels", "protocol", "inline_bytes", "staging_stores"})
                        ASSERT_TRUE(config.get(axis)) << axis;
                    ASSERT_EQ(config, default_config(problem, machine(cpus)));
                }
            }
        }
    }
}
INSTANTIATE_TEST_SUITE_P(Ranks, DefaultConfigTest, testing::Range(1, 34));

Problem all_reduce_on(const std::string& node_map, std::uint64_t count) {
    Problem problem;
    problem.ranks = node_map.empty() ? 4 : NodeMap::parse(node_map).ranks();
    problem.node_map = node_map;
    problem.count = count;
    return problem;
}

TEST(DefaultConfigOfNodes, FollowsThemAboveWhatOneExchangeCarries) {
    for (const char* nodes : {"2x2", "2,2,1", "2,2,1:cyclic", "irregular:0,1,1,0", "3x4", "2x16:cyclic"}) {
        EXPECT_EQ(default_config(all_reduce_on(nodes, 8), machine(2)).algorithm(), "one_shot") << nodes;
        for (const std::uint64_t count : {std::uint64_t{1} << 14, std::uint64_t{1} << 22, (std::uint64_t{1} << 32) + 1}) {
            const Problem problem = all_reduce_on(nodes, count);
            const core::Config config = default_config(problem, machine(2));
            EXPECT_EQ(config.algorithm(), "two_level") << nodes;
            EXPECT_EQ(reject(problem, config), std::nullopt) << nodes;
        }
    }
}

TEST(DefaultConfigOfNodes, IsTheFlatOneWhereThereAreNoLevels) {
    for (const char* nodes : {"1x4", "4x1"})
        EXPECT_EQ(default_config(all_reduce_on(nodes, 1 << 16), machine(4)), default_config(all_reduce_on("", 1 << 16), machine(4))) << nodes;
    Problem unfit = all_reduce_on("", 1 << 16);
    for (const char* nodes : {"2x3", "2xx2"}) {
        unfit.node_map = nodes;
        EXPECT_EQ(default_config(unfit, machine(4)), default_config(all_reduce_on("", 1 << 16), machine(4))) << nodes;
    }
}

}  // namespace
}  // namespace attune::collectives
