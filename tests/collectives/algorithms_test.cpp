// Every algorithm on real data against a direct computation: the oracle here is arithmetic, the verifier has tests of its own.
#include "collectives/amounts.hpp"
#include "collectives/catalogue.hpp"
#include "collectives/proof_sweep.hpp"
#include "collectives/sample_amounts.hpp"
#include "tests/support/reference_walk.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <string>

namespace attune::collectives {
namespace {

using test::UserBuffers;

// Distinct by rank and position; sums of 9 ranks stay exact.
std::int64_t contribution(int rank, std::uint64_t element) {
    return static_cast<std::int64_t>(element + 1) * 1000 + rank * rank + 7;
}

std::int64_t sum_of(int first, int last, std::uint64_t element) {
    std::int64_t sum = 0;
    for (int q = first; q <= last; ++q)
        sum += contribution(q, element);
    return sum;
}

// What the rank's output must hold, by element; elements that are not named keep what they held.
using Expected = std::map<std::uint64_t, std::int64_t>;

Expected expected_folds(const Problem& problem, int rank) {
    Expected expected;
    const bool scatters = problem.collective == Collective::reduce_scatter;
    const int last = problem.collective == Collective::scan ? rank : problem.collective == Collective::exscan ? rank - 1 : problem.ranks - 1;
    const bool none = (problem.collective == Collective::reduce && rank != problem.root) || last < 0;
    for (std::uint64_t i = 0; i < (none ? 0 : problem.count); ++i)
        expected[i] = sum_of(0, last, (scatters ? static_cast<std::uint64_t>(rank) * problem.count : 0) + i);
    return expected;
}

// Block q of the output comes from rank q, from element `from` of its input on.
Expected expected_blocks(const Problem& problem, int rank) {
    Expected expected;
    if (problem.collective == Collective::gather && rank != problem.root) return expected;
    const std::uint64_t from = problem.collective == Collective::all_to_all ? static_cast<std::uint64_t>(rank) * problem.count : 0;
    for (std::uint64_t i = 0; i < problem.count * static_cast<std::uint64_t>(problem.ranks); ++i)
        expected[i] = contribution(static_cast<int>(i / problem.count), from + i % problem.count);
    return expected;
}

Expected expected_of_root(const Problem& problem, int rank) {
    Expected expected;
    for (std::uint64_t i = 0; i < problem.count; ++i)
        expected[i] = contribution(problem.root, (problem.collective == Collective::scatter ? static_cast<std::uint64_t>(rank) * problem.count : 0) + i);
    return expected;
}

Expected expected_v(const Problem& problem, int rank) {
    Expected expected;
    const auto put = [&](const Block& block, const std::function<std::int64_t(std::uint64_t)>& value) {
        for (std::uint64_t i = 0; i < block.length; ++i)
            expected[block.offset + i] = value(i);
    };
    const auto at = static_cast<std::size_t>(rank);
    const bool gathers = problem.collective == Collective::all_gather_v || (problem.collective == Collective::gather_v && rank == problem.root);
    if (problem.collective == Collective::reduce_scatter_v) {
        const Block own = send_blocks(problem, rank)[at];
        put({0, own.length}, [&](std::uint64_t i) { return sum_of(0, problem.ranks - 1, own.offset + i); });
    } else if (problem.collective == Collective::scatter_v) {
        const Block own = send_blocks(view_of(problem, problem.root), problem.root)[at];
        put({0, own.length}, [&](std::uint64_t i) { return contribution(problem.root, own.offset + i); });
    } else if (gathers || problem.collective == Collective::all_to_all_v) {
        const std::vector<Block> blocks = receive_blocks(view_of(problem, rank), rank);
        for (int q = 0; q < problem.ranks; ++q) {
            const std::uint64_t from = gathers ? 0 : send_blocks(problem, q)[at].offset;
            put(blocks[static_cast<std::size_t>(q)], [&](std::uint64_t i) { return contribution(q, from + i); });
        }
    }
    return expected;
}

// By walking all sends of the peer for each receive.
Expected expected_messages(const Problem& problem, int rank) {
    Expected expected;
    std::map<Rank, int> received;
    for (const Transfer& receive : problem.amounts->transfers) {
        if (receive.is_send || receive.rank != rank) continue;
        int skip = received[receive.peer]++;
        for (const Transfer& send : problem.amounts->transfers) {
            if (!send.is_send || send.rank != receive.peer || send.peer != rank || skip-- != 0) continue;
            for (std::uint64_t i = 0; i < receive.count; ++i)
                expected[receive.offset + i] = contribution(send.rank, send.offset + i);
        }
    }
    return expected;
}

Expected expected_of(const Problem& problem, int rank) {
    switch (problem.collective) {
        case Collective::broadcast:
        case Collective::scatter:
            return expected_of_root(problem, rank);
        case Collective::all_gather:
        case Collective::gather:
        case Collective::all_to_all:
            return expected_blocks(problem, rank);
        case Collective::send_recv:
        case Collective::batch_send_recv:
            return expected_messages(problem, rank);
        case Collective::barrier:
            return {};
        default:
            return has_amounts(problem.collective) ? expected_v(problem, rank) : expected_folds(problem, rank);
    }
}

void fill(const Problem& problem, int rank, UserBuffers& buffers) {
    const std::span<std::byte> input = test::input_of(problem, rank, buffers);
    for (std::uint64_t element = 0; element * 8 < input.size(); ++element) {
        const std::int64_t value = contribution(rank, element);
        std::memcpy(input.data() + element * 8, &value, 8);
    }
}

std::string wrong_element(const Problem& problem, int rank, UserBuffers& buffers, const UserBuffers& before) {
    // In place the offset of the result within the one buffer.
    const std::uint64_t offset = problem.in_place ? in_place_output_offset(problem, rank) : 0;
    const Expected expected = expected_of(problem, rank);
    for (std::uint64_t element = 0; element * 8 < buffers.output.size(); ++element) {
        std::int64_t value = 0, wanted = 0;
        std::memcpy(&value, buffers.output.data() + element * 8, 8);
        std::memcpy(&wanted, before.output.data() + element * 8, 8);
        if (const auto found = element < offset ? expected.end() : expected.find(element - offset); found != expected.end()) wanted = found->second;
        if (value != wanted) return "rank " + std::to_string(rank) + " element " + std::to_string(element);
    }
    return {};
}

std::string run(const Problem& problem, const Algorithm& algorithm, const Cut& cut) {
    std::vector<Schedule> schedules;
    std::vector<UserBuffers> buffers = test::make_buffers(problem);
    for (Rank rank = 0; rank < problem.ranks; ++rank) {
        schedules.push_back(generate(view_of(problem, rank), algorithm, cut, rank));
        fill(problem, rank, buffers[static_cast<std::size_t>(rank)]);
    }
    const std::vector<UserBuffers> before = buffers;
    test::walk(problem, schedules, buffers);
    for (int rank = 0; rank < problem.ranks; ++rank) {
        const auto r = static_cast<std::size_t>(rank);
        if (const std::string wrong = wrong_element(problem, rank, buffers[r], before[r]); !wrong.empty()) return wrong;
        if (!problem.in_place && buffers[r].input != before[r].input) return "rank " + std::to_string(rank) + " changed its input";
    }
    return {};
}

class EveryAlgorithm : public testing::TestWithParam<std::size_t> {};

void run_every_form(const Algorithm& algorithm, const Problem& shape, const std::string& name) {
    for (const Cut& cut : {Cut{0, 1}, Cut{0, 3}, Cut{7, 1}, Cut{5, 2}}) {
        const bool fits = cut.segment_elements == 0 || !has_amounts(shape.collective) || amounts_known_to_all(view_of(shape, 0));
        for (const bool in_place : {false, true}) {
            if (!fits || (in_place && !algorithm.constraints.in_place)) continue;
            Problem problem = shape;
            problem.in_place = in_place;
            EXPECT_EQ(run(problem, algorithm, cut), "")
                << name << ", segments of " << cut.segment_elements << ", " << cut.channels << " channels, in place " << in_place;
        }
    }
}

TEST_P(EveryAlgorithm, ComputesItsCollectiveOnEveryShape) {
    const Algorithm& algorithm = catalogue()[GetParam()];
    for (int ranks = 1; ranks <= 9; ++ranks) {
        Problem shape;
        shape.collective = algorithm.collective;
        shape.ranks = ranks;
        shape.root = is_rooted(algorithm.collective) ? ranks / 2 : 0;
        const std::array<std::uint64_t, 1> large = {53};
        for (SweepProblem& item : sweep_problems(algorithm, shape, large)) {
            item.problem.dtype = core::DType::int64;
            run_every_form(algorithm, item.problem, std::to_string(ranks) + " ranks, " + item.text);
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
            Problem problem;
            problem.collective = algorithm.collective;
            problem.ranks = ranks;
            problem.dtype = core::DType::int64;
            problem = with_sample_amounts(problem, AmountsShape::uneven, static_cast<std::uint64_t>(ranks * 4));
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
