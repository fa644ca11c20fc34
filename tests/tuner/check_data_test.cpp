// Exact validation of buffers: right ones pass, and every kind of damage is seen.
#include "tuner/engine/check_data.hpp"

#include "tuner/engine/check_values.hpp"
#include "tuner/traffic.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

namespace attune::tuner::engine {
namespace {

using collectives::Collective;
using collectives::Problem;

Problem problem_of(Collective collective, int ranks, std::uint64_t count, core::DType dtype = core::DType::float32, core::Op op = core::Op::sum) {
    Problem problem;
    problem.collective = collective;
    problem.ranks = ranks;
    problem.dtype = dtype;
    problem.op = op;
    problem.root = ranks / 2;
    problem.count = count;
    if (collective == Collective::send_recv) return with_partners(problem, PairPattern::ring, count);
    if (collective == Collective::batch_send_recv) return with_neighbours(problem, count);
    return collectives::has_amounts(collective) ? with_amounts(problem, AmountPattern::uneven, count * static_cast<std::uint64_t>(ranks)) : problem;
}

std::vector<std::byte> input_of(const Problem& problem, int rank, std::uint64_t round = 0) {
    std::vector<std::byte> memory(collectives::view_of(problem, rank).input_elements(rank) * core::size_of(problem.dtype));
    write_input(problem, rank, round, memory);
    return memory;
}

template <class T>
std::vector<T> values_of(const std::vector<std::byte>& memory) {
    std::vector<T> values(memory.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), memory.data(), memory.size());
    return values;
}

// What a right implementation would leave, made of the ranks' inputs. For float32 sums, which add in the type itself.
std::vector<std::byte> right_output(const Problem& problem, int rank, std::uint64_t round = 0) {
    std::vector<float> output(collectives::view_of(problem, rank).output_elements(rank));
    for (const Piece& piece : expected_pieces(problem, rank)) {
        for (int from = piece.first; from < piece.last; ++from) {
            const std::vector<float> input = values_of<float>(input_of(problem, from, round));
            for (std::uint64_t i = 0; i < piece.count; ++i)
                output.at(piece.at + i) += input.at(piece.position + i);
        }
    }
    std::vector<std::byte> memory(output.size() * sizeof(float));
    if (!output.empty()) std::memcpy(memory.data(), output.data(), memory.size());
    return memory;
}

constexpr std::array moved = {Collective::all_gather, Collective::broadcast,    Collective::gather,    Collective::scatter,      Collective::all_to_all,
                              Collective::gather_v,   Collective::all_gather_v, Collective::scatter_v, Collective::all_to_all_v, Collective::send_recv};

TEST(CheckData, RightOutputsOfEveryCollectivePass) {
    for (const Collective collective : collectives::all_collectives()) {
        if (!collectives::reduces(collective)) continue;
        for (const int ranks : {1, 2, 3, 7}) {
            for (const std::uint64_t count : {0, 1, 5, 101}) {
                const Problem problem = problem_of(collective, ranks, count);
                for (int rank = 0; rank < ranks; ++rank) {
                    const Difference difference = compare_output(problem, rank, 0, right_output(problem, rank));
                    EXPECT_EQ(difference.wrong, 0u) << name_of(collective) << " ranks " << ranks << ": " << difference.first;
                }
            }
        }
    }
}

// Copies may be any bits, so they are assembled as bytes.
std::vector<std::byte> moved_output(const Problem& problem, int rank, std::uint64_t round = 0) {
    const std::size_t element = core::size_of(problem.dtype);
    std::vector<std::byte> output(collectives::view_of(problem, rank).output_elements(rank) * element);
    for (const Piece& piece : expected_pieces(problem, rank)) {
        const std::vector<std::byte> input = input_of(problem, piece.first, round);
        if (piece.count != 0) std::memcpy(output.data() + piece.at * element, input.data() + piece.position * element, piece.count * element);
    }
    return output;
}

TEST(CheckData, MovedElementsOfEveryTypeArePassedAndOneWrongBitIsOneWrongElement) {
    for (const Collective collective : moved) {
        for (const core::DType dtype : core::all_dtypes()) {
            const Problem problem = problem_of(collective, 3, 41, dtype);
            for (int rank = 0; rank < 3; ++rank) {
                std::vector<std::byte> output = moved_output(problem, rank);
                ASSERT_EQ(compare_output(problem, rank, 0, output).wrong, 0u) << name_of(collective) << ' ' << core::name_of(dtype);
                if (output.empty()) continue;
                output[output.size() / 2] ^= std::byte{1};
                const Difference difference = compare_output(problem, rank, 0, output);
                EXPECT_EQ(difference.wrong, 1u) << name_of(collective) << ' ' << core::name_of(dtype);
                EXPECT_NE(difference.first.find("element " + std::to_string(output.size() / 2 / core::size_of(dtype)) + " is "), std::string::npos);
            }
        }
    }
}

TEST(CheckData, TheResultOfAnotherRoundOrAMissingRankIsWrongNearlyEverywhere) {
    const Problem problem = problem_of(Collective::all_reduce, 3, 1009);
    EXPECT_EQ(compare_output(problem, 0, 1, right_output(problem, 0)).wrong, 1009u);
    const Problem fewer = problem_of(Collective::all_reduce, 2, 1009);
    EXPECT_GE(compare_output(problem, 0, 0, right_output(fewer, 0)).wrong, 1000u);
}

TEST(CheckData, BlocksInTheWrongOrderAreSeenAlsoInSmallTypes) {
    for (const core::DType dtype : {core::DType::int8, core::DType::bfloat16, core::DType::float64}) {
        const Problem problem = problem_of(Collective::all_gather, 4, 256, dtype);
        std::vector<std::byte> output = moved_output(problem, 0);
        const auto block = static_cast<std::ptrdiff_t>(output.size() / 4);
        std::swap_ranges(output.begin(), output.begin() + block, output.begin() + block);
        EXPECT_EQ(compare_output(problem, 0, 0, output).wrong, 512u) << core::name_of(dtype);
    }
}

TEST(CheckData, AShortOutputMissesAllElementsOfItsPiece) {
    const Problem problem = problem_of(Collective::all_reduce, 2, 10);
    std::vector<std::byte> output = right_output(problem, 0);
    output.resize(20);
    EXPECT_EQ(compare_output(problem, 0, 0, output).wrong, 10u);
}

TEST(CheckData, AChangedInputIsFound) {
    for (const core::DType dtype : core::all_dtypes()) {
        const Problem problem = problem_of(Collective::reduce_scatter, 3, 7, dtype);
        std::vector<std::byte> input = input_of(problem, 2);
        EXPECT_EQ(compare_input(problem, 2, 0, input).wrong, 0u);
        input.front() ^= std::byte{0x40};
        EXPECT_EQ(compare_input(problem, 2, 0, input).wrong, 1u);
    }
}

TEST(CheckData, PoisonIsNoResultOfTheExample) {
    const Problem problem = problem_of(Collective::all_reduce, 3, 1009);
    std::vector<std::byte> output(1009 * 4);
    poison(output);
    EXPECT_EQ(compare_output(problem, 0, 0, output).wrong, 1009u);
}

TEST(CheckData, WhatWasWrittenOutsideTheRangesIsCounted) {
    std::vector<std::byte> memory(64);
    poison(memory);
    std::fill(memory.begin() + 16, memory.begin() + 32, std::byte{0});
    EXPECT_EQ(compare_poison(memory, {{16, 32}}, 4).wrong, 0u);
    EXPECT_EQ(compare_poison(memory, {{24, 32}, {16, 20}}, 4).wrong, 1u);
    EXPECT_EQ(compare_poison(memory, {}, 4).wrong, 4u);
    EXPECT_NE(compare_poison(memory, {}, 4).first.find("element 4 "), std::string::npos);
    memory[63] = std::byte{1};
    EXPECT_EQ(compare_poison(memory, {{16, 32}}, 4).wrong, 1u);
}

TEST(CheckData, DigestsOfDifferentContentsDiffer) {
    std::vector<std::byte> memory(37);
    std::set<std::uint64_t> seen = {content_digest(memory)};
    for (std::byte& byte : memory) {
        byte = std::byte{1};
        EXPECT_TRUE(seen.insert(content_digest(memory)).second);
        byte = std::byte{0};
    }
}

}  // namespace
}  // namespace attune::tuner::engine
