// The default answers every problem with a full config that can run it.
#include "collectives/default_config.hpp"

#include "collectives/catalogue.hpp"
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

}  // namespace
}  // namespace attune::collectives
