// The inputs and the oracle of exact validation: distinct, exactly representable, and every kind of damage is seen.
#include "tuner/engine/check_data.hpp"

#include "libcore/buffers.hpp"
#include "libcore/element.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <type_traits>
#include <vector>

namespace attune::tuner::engine {
namespace {

using collectives::Collective;
using collectives::Problem;

Problem problem_of(Collective collective, int ranks, std::uint64_t count, core::DType dtype = core::DType::float32, core::Op op = core::Op::sum) {
    Problem problem;
    problem.collective = collective;
    problem.ranks = ranks;
    problem.count = count;
    problem.dtype = dtype;
    problem.op = op;
    return problem;
}

std::vector<std::byte> input_of(const Problem& problem, int rank, std::uint64_t round = 0) {
    std::vector<std::byte> memory(problem.input_elements() * core::size_of(problem.dtype));
    write_input(problem, rank, round, memory);
    return memory;
}

template <class T>
std::vector<T> values_of(const std::vector<std::byte>& memory) {
    std::vector<T> values(memory.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), memory.data(), memory.size());
    return values;
}

template <class T>
T combined(core::Op op, T a, T b) {
    if (op == core::Op::min) return std::min(a, b);
    if (op == core::Op::max) return std::max(a, b);
    if constexpr (std::is_integral_v<T>) {
        const std::uint64_t x = static_cast<std::make_unsigned_t<T>>(a), y = static_cast<std::make_unsigned_t<T>>(b);
        if (op == core::Op::prod) return static_cast<T>(x * y);
        if (op == core::Op::band) return static_cast<T>(x & y);
        if (op == core::Op::bor) return static_cast<T>(x | y);
        if (op == core::Op::bxor) return static_cast<T>(x ^ y);
        return static_cast<T>(x + y);
    } else {
        return op == core::Op::prod ? a * b : a + b;
    }
}

// A reference all_reduce in the element type itself, from the last rank to the first: exact inputs make every order equal.
template <class T>
std::vector<std::byte> reference(const Problem& problem) {
    using Wide = core::Accumulator<T>;
    std::vector<T> result = values_of<T>(input_of(problem, problem.ranks - 1));
    for (int rank = problem.ranks - 2; rank >= 0; --rank) {
        const std::vector<T> values = values_of<T>(input_of(problem, rank));
        for (std::size_t i = 0; i < result.size(); ++i)
            result[i] = static_cast<T>(combined(problem.op, static_cast<Wide>(result[i]), static_cast<Wide>(values[i])));
    }
    if (problem.op == core::Op::avg)
        for (T& value : result)
            value = static_cast<T>(static_cast<Wide>(value) / static_cast<Wide>(problem.ranks));
    std::vector<std::byte> memory(result.size() * sizeof(T));
    if (!memory.empty()) std::memcpy(memory.data(), result.data(), memory.size());
    return memory;
}

std::vector<std::byte> reference_of(const Problem& problem) {
    return core::with_element_type(problem.dtype, [&]<class T>(T) { return reference<T>(problem); });
}

TEST(CheckData, EveryTypeAndOperatorHasAnExactResultInAnyOrder) {
    for (const core::DType dtype : core::all_dtypes()) {
        for (const core::Op op : core::all_ops()) {
            if (core::unsupported(dtype, op)) continue;
            for (const int ranks : {1, 2, 3, 7, 64}) {
                if (dtype == core::DType::float16 && op == core::Op::prod && ranks > 14) continue;  // powers of two beyond its range
                for (const std::uint64_t count : {0, 1, 5, 1009}) {
                    const Problem problem = problem_of(Collective::all_reduce, ranks, count, dtype, op);
                    const Difference difference = compare_output(problem, 0, 0, reference_of(problem));
                    EXPECT_EQ(difference.wrong, 0u) << core::name_of(dtype) << ' ' << core::name_of(op) << " ranks " << ranks << ": " << difference.first;
                }
            }
        }
    }
}

TEST(CheckData, SumsAndProductsOfFloatsAreFinite) {
    for (const core::Op op : {core::Op::sum, core::Op::prod}) {
        const Problem problem = problem_of(Collective::all_reduce, 64, 1009, core::DType::float32, op);
        for (const float value : values_of<float>(reference_of(problem)))
            EXPECT_TRUE(std::isfinite(value));
    }
}

TEST(CheckData, ElementsAreDistinctByPositionAndByRankAndByRound) {
    const Problem problem = problem_of(Collective::all_reduce, 4, 100'000);
    const std::vector<float> zero = values_of<float>(input_of(problem, 0));
    EXPECT_EQ(std::set<float>(zero.begin(), zero.end()).size(), zero.size());
    const std::vector<float> one = values_of<float>(input_of(problem, 1));
    const std::vector<float> next = values_of<float>(input_of(problem, 0, 1));
    for (std::size_t i = 0; i < zero.size(); ++i) {
        ASSERT_NE(zero[i], one[i]);
        ASSERT_NE(zero[i], next[i]);
    }
}

TEST(CheckData, OneWrongBitAnywhereIsOneWrongElement) {
    const Problem problem = problem_of(Collective::all_reduce, 3, 1009);
    for (const std::size_t at : {std::size_t{0}, std::size_t{2018}, std::size_t{4035}}) {
        std::vector<std::byte> output = reference_of(problem);
        output[at] ^= std::byte{1};
        const Difference difference = compare_output(problem, 0, 0, output);
        EXPECT_EQ(difference.wrong, 1u);
        EXPECT_NE(difference.first.find("element " + std::to_string(at / 4) + " is "), std::string::npos) << difference.first;
    }
}

TEST(CheckData, TheResultOfAnotherRoundOrAMissingRankIsWrongEverywhere) {
    const Problem problem = problem_of(Collective::all_reduce, 3, 1009);
    EXPECT_EQ(compare_output(problem, 0, 1, reference_of(problem)).wrong, 1009u);
    const Problem fewer = problem_of(Collective::all_reduce, 2, 1009);
    EXPECT_GE(compare_output(problem, 0, 0, reference_of(fewer)).wrong, 1000u);
}

TEST(CheckData, GatheredBlocksMustLieInRankOrder) {
    const Problem problem = problem_of(Collective::all_gather, 3, 11);
    std::vector<std::byte> output;
    for (int rank = 0; rank < 3; ++rank) {
        const std::vector<std::byte> block = input_of(problem, rank);
        output.insert(output.end(), block.begin(), block.end());
    }
    EXPECT_EQ(compare_output(problem, 1, 0, output).wrong, 0u);
    std::swap_ranges(output.begin(), output.begin() + 44, output.begin() + 44);
    EXPECT_EQ(compare_output(problem, 1, 0, output).wrong, 22u);
}

TEST(CheckData, ReduceScatterExpectsEachRanksOwnSlice) {
    const Problem scatter = problem_of(Collective::reduce_scatter, 3, 7);
    const Problem whole = problem_of(Collective::all_reduce, 3, 21);
    const std::vector<std::byte> all = reference_of(whole);
    for (int rank = 0; rank < 3; ++rank) {
        const auto slice = std::span(all).subspan(static_cast<std::size_t>(rank) * 28, 28);
        EXPECT_EQ(compare_output(scatter, rank, 0, slice).wrong, 0u);
        EXPECT_EQ(compare_output(scatter, (rank + 1) % 3, 0, slice).wrong, 7u);
    }
}

TEST(CheckData, BroadcastExpectsTheRootsData) {
    Problem problem = problem_of(Collective::broadcast, 4, 9, core::DType::int64);
    problem.root = 2;
    EXPECT_EQ(compare_output(problem, 0, 0, input_of(problem, 2)).wrong, 0u);
    EXPECT_EQ(compare_output(problem, 0, 0, input_of(problem, 1)).wrong, 9u);
}

TEST(CheckData, AChangedInputIsSeen) {
    const Problem problem = problem_of(Collective::all_reduce, 2, 16, core::DType::float64);
    std::vector<std::byte> input = input_of(problem, 1);
    EXPECT_EQ(compare_input(problem, 1, 0, input).wrong, 0u);
    input[8] ^= std::byte{4};
    EXPECT_EQ(compare_input(problem, 1, 0, input).wrong, 1u);
}

TEST(CheckData, PoisonIsNoResult) {
    for (const core::DType dtype : core::all_dtypes()) {
        const Problem problem = problem_of(Collective::all_reduce, 2, 64, dtype);
        std::vector<std::byte> output(64 * core::size_of(dtype));
        poison(output);
        // One byte has too few values to keep one apart.
        EXPECT_GE(compare_output(problem, 0, 0, output).wrong, core::size_of(dtype) == 1 ? 60u : 64u) << core::name_of(dtype);
    }
}

TEST(CheckData, TheDigestSeesEveryByteAndItsPlace) {
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
