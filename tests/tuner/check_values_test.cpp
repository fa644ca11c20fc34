// The numbers of exact validation: 16-bit floats by definition, results that every order of reduction gives, and values that differ.
#include "tuner/engine/check_values.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace attune::tuner::engine {
namespace {

using collectives::Collective;
using collectives::Problem;

Problem problem_of(core::DType dtype, core::Op op, int ranks, Collective collective = Collective::all_reduce) {
    Problem problem;
    problem.collective = collective;
    problem.ranks = ranks;
    problem.dtype = dtype;
    problem.op = op;
    return problem;
}

TEST(ShortFloats, DecodeTheConstantsOfTheirStandards) {
    EXPECT_EQ(decode(Half{0x3C00}), 1.0);
    EXPECT_EQ(decode(Half{0xC000}), -2.0);
    EXPECT_EQ(decode(Half{0x7BFF}), 65504.0);
    EXPECT_EQ(decode(Half{0x0001}), std::ldexp(1, -24));
    EXPECT_EQ(decode(Half{0x0400}), std::ldexp(1, -14));
    EXPECT_TRUE(std::isinf(decode(Half{0x7C00})));
    EXPECT_TRUE(std::isnan(decode(Half{0x7E00})));
    EXPECT_TRUE(std::signbit(decode(Half{0x8000})));
    EXPECT_EQ(decode(Brain{0x3F80}), 1.0);
    EXPECT_EQ(decode(Brain{0x4049}), 3.140625);
    EXPECT_EQ(decode(Brain{0x0001}), std::ldexp(1, -133));
    EXPECT_EQ(decode(Brain{0x7F7F}), std::ldexp(255, 120));
}

template <class T>
void expect_every_finite_pattern_survives() {
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
        const T value{static_cast<std::uint16_t>(bits)};
        if (!std::isfinite(decode(value))) continue;
        ASSERT_EQ(encode<T>(decode(value)).bits, value.bits);
    }
}

TEST(ShortFloats, EncodingADecodedNumberGivesTheSameBits) {
    expect_every_finite_pattern_survives<Half>();
    expect_every_finite_pattern_survives<Brain>();
}

// Rounds after every addition, as a schedule that hands partial results on does.
template <class T>
double stored(double value) {
    if constexpr (is_short<T>) {
        if (value == 0) return value;
        int exponent = 0;
        std::frexp(value, &exponent);
        const double unit = std::ldexp(1, std::max(exponent, 2 - T::bias) - T::significand_bits - 1);
        return std::nearbyint(value / unit) * unit;
    } else {
        return static_cast<double>(static_cast<T>(value));
    }
}

// The exact result of `position`, and the same folded in a random order with rounding after every step.
template <class T>
void expect_any_order_is_exact(const Problem& problem, std::uint64_t position, std::mt19937& random) {
    const Values<T> values(problem, 0);
    std::vector<int> order(static_cast<std::size_t>(problem.ranks));
    std::iota(order.begin(), order.end(), 0);
    const auto fold = [&](bool rounds) {
        std::optional<Exact<T>> sum;
        for (const int rank : order) {
            auto walk = values.walk(rank, position);
            const Exact<T> next = widen<T>(values.element(walk));
            sum = sum ? values.combined(*sum, next) : next;
            if constexpr (is_float<T>) {
                if (rounds) sum = stored<T>(*sum);
            }
        }
        return narrow<T>(values.finished(*sum));
    };
    const T exact = fold(false);
    std::ranges::shuffle(order, random);
    const T rounded = fold(true);
    ASSERT_EQ(std::memcmp(&exact, &rounded, sizeof(T)), 0)
        << core::name_of(problem.dtype) << ' ' << core::name_of(problem.op) << " ranks " << problem.ranks << " position " << position;
}

TEST(Values, EveryTypeAndOperatorHasOneResultInAnyOrderOfReduction) {
    std::mt19937 random(7);
    for (const core::DType dtype : core::all_dtypes()) {
        for (const core::Op op : core::all_ops()) {
            if (core::unsupported(dtype, op)) continue;
            for (const int ranks : {1, 2, 3, 7, 12, 49, 64, 300}) {
                const Problem problem = problem_of(dtype, op, ranks);
                with_type(dtype, [&]<class T>(T) {
                    for (std::uint64_t position = 0; position < 60; ++position)
                        expect_any_order_is_exact<T>(problem, position * 97, random);
                });
            }
        }
    }
}

TEST(Values, AveragesAreTheSameByDivisionAndByTheRoundedReciprocal) {
    for (const int ranks : {3, 7, 12, 49, 100}) {
        const Values<float> values(problem_of(core::DType::float32, core::Op::avg, ranks), 0);
        for (std::uint64_t position = 0; position < 200; ++position) {
            float sum = 0;
            for (int rank = 0; rank < ranks; ++rank) {
                auto walk = values.walk(rank, position);
                sum += values.element(walk);
            }
            ASSERT_EQ(sum / static_cast<float>(ranks), sum * (1.0F / static_cast<float>(ranks)));
        }
    }
}

template <class T>
std::vector<std::uint64_t> bits_of(const Problem& problem, int rank, std::uint64_t round, std::size_t count) {
    const Values<T> values(problem, round);
    auto walk = values.walk(rank, 0);
    std::vector<std::uint64_t> all;
    for (std::size_t i = 0; i < count; ++i) {
        const T value = values.element(walk);
        std::uint64_t bits = 0;
        std::memcpy(&bits, &value, sizeof(T));
        all.push_back(bits);
    }
    return all;
}

TEST(Values, ElementsThatAreCopiedDifferByPositionByRankAndByRound) {
    for (const core::DType dtype : core::all_dtypes()) {
        const Problem problem = problem_of(dtype, core::Op::sum, 12, Collective::all_gather);
        const std::size_t distinct = core::size_of(dtype) == 1 ? 251 : core::size_of(dtype) == 2 ? 60'000 : 100'000;
        with_type(dtype, [&]<class T>(T) {
            const auto first = bits_of<T>(problem, 0, 0, distinct);
            EXPECT_EQ(std::set(first.begin(), first.end()).size(), distinct) << core::name_of(dtype);
            for (int rank = 1; rank < 12; ++rank) {
                const auto other = bits_of<T>(problem, rank, 0, distinct);
                for (std::size_t i = 0; i < distinct; ++i)
                    ASSERT_NE(first[i], other[i]) << core::name_of(dtype);
            }
            ASSERT_NE(first.front(), bits_of<T>(problem, 0, 1, 1).front());
        });
    }
}

// With few values in a type, a block that lands in another's place must still be seen.
TEST(Values, NoTwoBlocksOfAPowerOfTwoLookAlikeInASmallType) {
    for (const core::DType dtype : {core::DType::int8, core::DType::bfloat16}) {
        for (const core::Op op : {core::Op::sum, core::Op::max}) {
            const Problem problem = problem_of(dtype, op, 12);
            with_type(dtype, [&]<class T>(T) {
                const auto all = bits_of<T>(problem, 3, 0, 64 * 1024);
                std::set<std::vector<std::uint64_t>> blocks;
                for (std::size_t at = 0; at < all.size(); at += 256)
                    blocks.emplace(all.begin() + static_cast<std::ptrdiff_t>(at), all.begin() + static_cast<std::ptrdiff_t>(at) + 256);
                EXPECT_EQ(blocks.size(), all.size() / 256) << core::name_of(dtype);
            });
        }
    }
}

TEST(Values, ResultsOfBitOperatorsAreNeitherAllOnesNorAllZeros) {
    for (const core::Op op : {core::Op::band, core::Op::bor, core::Op::bxor}) {
        for (const int ranks : {1, 2, 7, 64}) {
            const Problem problem = problem_of(core::DType::uint32, op, ranks);
            const Values<std::uint32_t> values(problem, 0);
            std::set<std::uint64_t> results;
            for (std::uint64_t position = 0; position < 100; ++position) {
                std::uint64_t result = op == core::Op::band ? ~std::uint64_t{0} : 0;
                for (int rank = 0; rank < ranks; ++rank) {
                    auto walk = values.walk(rank, position);
                    result = values.combined(result, widen(values.element(walk)));
                }
                results.insert(result & 0xFFFFFFFF);
            }
            EXPECT_GT(results.size(), 50u) << core::name_of(op) << ' ' << ranks;
        }
    }
}

TEST(Values, AWalkFromAnyPositionIsTheSameAsOneFromTheStart) {
    const Problem problem = problem_of(core::DType::int8, core::Op::sum, 3, Collective::all_gather);
    const auto all = bits_of<std::int8_t>(problem, 2, 1, 2000);
    const Values<std::int8_t> values(problem, 1);
    for (const std::uint64_t position : {0, 1, 250, 251, 252, 1003}) {
        auto walk = values.walk(2, position);
        for (std::size_t i = position; i < all.size(); ++i)
            ASSERT_EQ(static_cast<std::uint8_t>(values.element(walk)), all[i]) << position << ' ' << i;
    }
}

}  // namespace
}  // namespace attune::tuner::engine
