// How much the verifier notices: every step of every algorithm, and every operation of every compiled plan, changed a little. Mutants with the dependency
// graph of the original are no mutants; of the others at least 98 % must be refused. Survivors are printed.
#include "collectives/node_map.hpp"
#include "collectives/proof_sweep.hpp"
#include "collectives/sample_amounts.hpp"
#include "tests/support/dependency_graph.hpp"
#include "tests/support/mutations.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <functional>

namespace attune::collectives {
namespace {

using test::MutationReport;

using Mutate = std::function<MutationReport(const Problem&, const Algorithm&, const Cut&)>;
MutationReport mutate_all(int first, int last, const std::vector<Cut>& cuts, const Mutate& mutate = test::mutate) {
    MutationReport report;
    for (const Algorithm& algorithm : catalogue()) {
        for (int ranks = first; ranks <= last; ++ranks) {
            for (const Cut& cut : cuts) {
                Problem problem;
                problem.collective = algorithm.collective;
                problem.ranks = ranks;
                problem = with_sample_amounts(problem, AmountsShape::uneven, static_cast<std::uint64_t>(2 * ranks + 1));
                problem.root = is_rooted(algorithm.collective) ? ranks / 2 : 0;
                problem.in_place = cut.channels > 1 && algorithm.constraints.in_place;
                if (cut.channels > 1 && ranks % 2 == 1 && can_average(algorithm.collective)) problem.op = core::Op::avg;
                if (algorithm.constraints.uses_nodes) problem.node_map = NodeMap::blocks(ranks, ranks < 4 ? 1 : 2).text();
                if (!algorithm.constraints.splittable && cut.channels > 1) continue;
                report += mutate(problem, algorithm, cut);
            }
        }
    }
    return report;
}

void expect_refused(const MutationReport& report) {
    std::printf("%llu mutants, %llu refused (%.2f %%), %llu equivalent left out\n", static_cast<unsigned long long>(report.mutants),
                static_cast<unsigned long long>(report.refused), 100.0 * static_cast<double>(report.refused) / static_cast<double>(report.mutants),
                static_cast<unsigned long long>(report.equivalent));
    std::uint64_t survived = 0;
    for (const auto& [kind, survivors] : report.survivors) {
        std::printf("survived %5llu x %s, such as %s\n", static_cast<unsigned long long>(survivors.count), kind.c_str(), survivors.example.c_str());
        survived += survivors.count;
    }
    EXPECT_GE(static_cast<double>(report.refused), 0.98 * static_cast<double>(report.mutants));
    EXPECT_EQ(report.refused + survived, report.mutants);
    // Most changes matter: were nearly all called equivalent, the share above would mean nothing.
    EXPECT_LT(report.equivalent, report.mutants / 4);
}

// The judge of equivalence, on an exchange of two ranks: send, then fold the message with the own input.
Schedule exchange_of_rank_zero() {
    const Problem problem{Collective::all_reduce, 2, 4, core::DType::float32, core::Op::sum, 0, false, ""};
    return generate(problem, *find_algorithm(Collective::all_reduce, "one_shot"), {}, 0);
}

bool equivalent_after(const std::function<void(std::vector<Step>&)>& change) {
    const Problem problem{Collective::all_reduce, 2, 4, core::DType::float32, core::Op::sum, 0, false, ""};
    Schedule changed = exchange_of_rank_zero();
    change(changed.steps);
    return test::dependency_form(problem, changed) == test::dependency_form(problem, exchange_of_rank_zero());
}

TEST(DependencyForm, IgnoresTheOrderOfIndependentStepsAndOfTheFirstTwoOperands) {
    EXPECT_TRUE(equivalent_after([](auto& steps) { std::rotate(steps.begin(), steps.begin() + 1, steps.end()); }));
    EXPECT_TRUE(equivalent_after([](auto& steps) {
        std::swap(steps[1], steps[2]);
        steps[1].kind = StepKind::copy;
        std::swap(steps[1].joined, steps[2].joined);
    }));
}

TEST(DependencyForm, SeesEveryOtherChange) {
    EXPECT_FALSE(equivalent_after([](auto& steps) { steps[0].peer = 0; }));
    EXPECT_FALSE(equivalent_after([](auto& steps) { steps[0].channel = 1; }));
    EXPECT_FALSE(equivalent_after([](auto& steps) { steps[0].source_offset = 1; }));
    EXPECT_FALSE(equivalent_after([](auto& steps) { steps[0].source = BufferId::output; }));
    EXPECT_FALSE(equivalent_after([](auto& steps) { steps[2].joined = false; }));
    EXPECT_FALSE(equivalent_after([](auto& steps) { steps.pop_back(); }));
    EXPECT_FALSE(equivalent_after([](auto& steps) { steps.push_back(steps[0]); }));
}

TEST(DependencyForm, SeesAHazardThatAPlanLeavesOut) {
    const Problem problem{Collective::all_reduce, 4, 4, core::DType::float32, core::Op::sum, 0, true, ""};
    const Plan plan = compile(problem, generate(problem, *find_algorithm(Collective::all_reduce, "two_shot"), {}, 0), {});
    ASSERT_FALSE(plan.hazards.empty());
    for (std::size_t index = 0; index < plan.operations.size(); ++index) {
        if (plan.operations[index].hazard_count == 0) continue;
        Plan changed = plan;
        changed.operations[index].hazard_count = 0;
        EXPECT_NE(test::dependency_form(changed), test::dependency_form(plan));
    }
}

TEST(Mutations, OfSmallSchedulesAndPlansAreRefused) {
    expect_refused(mutate_all(2, 5, {Cut{0, 1}, Cut{3, 2}}));
}

// Every message goes straight: as it is got, and as it is put where it may be. A mixed message is proved like one that is got.
MutationReport mutate_direct(int first, int last, Protocol protocol) {
    CompileOptions options;
    options.inline_bytes = 0;
    options.protocol = protocol;
    return mutate_all(first, last, {Cut{0, 1}, Cut{3, 2}},
                      [&](const Problem& problem, const Algorithm& algorithm, const Cut& cut) { return test::mutate_plans(problem, algorithm, cut, options); });
}

TEST(Mutations, OfPlansWhoseMessagesPassNoStagingAreRefused) {
    expect_refused(mutate_direct(2, 4, Protocol::cma_get));
    expect_refused(mutate_direct(2, 4, Protocol::cma_put));
    expect_refused(mutate_direct(3, 3, Protocol::mixed));
}

// One test per number of ranks, so that they can run side by side.
class MutationRanks : public testing::TestWithParam<int> {};

TEST_P(MutationRanks, OfLargerSchedulesAndPlansAreRefused) {
    expect_refused(mutate_all(GetParam(), GetParam(), {Cut{0, 1}, Cut{3, 2}}));
}

TEST_P(MutationRanks, OfLargerPlansWithPutsAreRefused) {
    expect_refused(mutate_direct(GetParam(), GetParam(), Protocol::cma_put));
}
INSTANTIATE_TEST_SUITE_P(SlowRanks, MutationRanks, testing::Range(6, 10));

}  // namespace
}  // namespace attune::collectives
