// Every algorithm on real data against a direct computation: the oracle here is arithmetic, the verifier has tests of its own.
#include "collectives/catalogue.hpp"
#include "tests/support/reference_walk.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace attune::collectives {
namespace {

using test::UserBuffers;

// Distinct by rank and position; sums of 9 ranks stay exact.
std::int64_t contribution(int rank, std::uint64_t element) {
    return static_cast<std::int64_t>(element + 1) * 1000 + rank * rank + 7;
}

std::int64_t expected(const Problem& problem, int rank, std::uint64_t element) {
    if (problem.collective == Collective::broadcast) return contribution(problem.root, element);
    if (problem.collective == Collective::all_gather) return contribution(static_cast<int>(element / problem.count), element % problem.count);
    const std::uint64_t at = problem.collective == Collective::reduce_scatter ? static_cast<std::uint64_t>(rank) * problem.count + element : element;
    std::int64_t sum = 0;
    for (int q = 0; q < problem.ranks; ++q)
        sum += contribution(q, at);
    return sum;
}

void fill(const Problem& problem, int rank, UserBuffers& buffers) {
    if (problem.collective == Collective::broadcast && rank != problem.root) return;
    const std::span<std::byte> input = test::input_of(problem, rank, buffers);
    for (std::uint64_t element = 0; element * 8 < input.size(); ++element) {
        const std::int64_t value = contribution(rank, element);
        std::memcpy(input.data() + element * 8, &value, 8);
    }
}

std::string wrong_element(const Problem& problem, int rank, UserBuffers& buffers) {
    const std::span<std::byte> output = test::output_of(problem, rank, buffers);
    for (std::uint64_t element = 0; element * 8 < output.size(); ++element) {
        std::int64_t value = 0;
        std::memcpy(&value, output.data() + element * 8, 8);
        if (value != expected(problem, rank, element)) return "rank " + std::to_string(rank) + " element " + std::to_string(element);
    }
    return {};
}

std::string run(const Problem& problem, const Algorithm& algorithm, const Cut& cut) {
    std::vector<Schedule> schedules;
    std::vector<UserBuffers> buffers = test::make_buffers(problem);
    for (Rank rank = 0; rank < problem.ranks; ++rank) {
        schedules.push_back(generate(problem, algorithm, cut, rank));
        fill(problem, rank, buffers[static_cast<std::size_t>(rank)]);
    }
    const std::vector<UserBuffers> before = buffers;
    test::walk(problem, schedules, buffers);
    for (int rank = 0; rank < problem.ranks; ++rank) {
        const auto r = static_cast<std::size_t>(rank);
        if (const std::string wrong = wrong_element(problem, rank, buffers[r]); !wrong.empty()) return wrong;
        if (!problem.in_place && buffers[r].input != before[r].input) return "rank " + std::to_string(rank) + " changed its input";
    }
    return {};
}

class EveryAlgorithm : public testing::TestWithParam<std::size_t> {};

TEST_P(EveryAlgorithm, ComputesItsCollectiveOnEveryShape) {
    const Algorithm& algorithm = catalogue()[GetParam()];
    for (int ranks = 1; ranks <= 9; ++ranks) {
        for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{1}, static_cast<std::uint64_t>(ranks + 1), std::uint64_t{53}}) {
            for (const Cut& cut : {Cut{0, 1}, Cut{0, 3}, Cut{7, 1}, Cut{5, 2}}) {
                for (const bool in_place : {false, true}) {
                    Problem problem{algorithm.collective, ranks, count, core::DType::int64, core::Op::sum, ranks / 2, in_place, ""};
                    if (algorithm.collective == Collective::barrier) problem.count = 0;
                    EXPECT_EQ(run(problem, algorithm, cut), "") << ranks << " ranks, count " << count << ", segments of " << cut.segment_elements << ", "
                                                                << cut.channels << " channels, in place " << in_place;
                }
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, EveryAlgorithm, testing::Range<std::size_t>(0, catalogue().size()), [](const auto& info) {
    const Algorithm& algorithm = catalogue()[info.param];
    return std::string(name_of(algorithm.collective)) + "_" + std::string(algorithm.name);
});

TEST(Algorithms, SendAsManyBytesAndRoundsAsTheirCostFormulaSays) {
    for (const Algorithm& algorithm : catalogue()) {
        for (const int ranks : {1, 2, 3, 5, 6, 7, 8, 12, 13}) {
            const auto count = static_cast<std::uint64_t>(algorithm.collective == Collective::barrier ? 0 : ranks * 4);
            const Problem problem{algorithm.collective, ranks, count, core::DType::int64, core::Op::sum, 0, false, ""};
            std::uint64_t busiest = 0;
            std::uint64_t reduced = 0;
            for (Rank rank = 0; rank < ranks; ++rank) {
                std::uint64_t sent = 0;
                std::uint64_t folded = 0;
                for (const Step& step : generate(problem, algorithm, {}, rank).steps) {
                    if (step.kind == StepKind::send) sent += step.length * 8;
                    if (step.joined) folded += step.length * 8;
                }
                busiest = std::max(busiest, sent);
                reduced = std::max(reduced, folded);
            }
            const Cost cost = algorithm.cost(problem);
            EXPECT_DOUBLE_EQ(cost.bytes_sent, static_cast<double>(busiest)) << name_of(algorithm.collective) << " " << algorithm.name << " " << ranks;
            EXPECT_DOUBLE_EQ(cost.bytes_reduced, static_cast<double>(reduced)) << name_of(algorithm.collective) << " " << algorithm.name << " " << ranks;
        }
    }
}

}  // namespace
}  // namespace attune::collectives
