// The 16-bit floats against double-precision arithmetic, for every bit pattern.
#include "libcore/half.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace attune::core {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// By the definition of the formats: sign, exponent, fraction.
double value_of(std::uint16_t bits, int exponent_bits) {
    const int fraction_bits = 15 - exponent_bits;
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const int exponent = (bits >> fraction_bits) & ((1 << exponent_bits) - 1);
    const int fraction = bits & ((1 << fraction_bits) - 1);
    double value = 0;
    if (exponent == (1 << exponent_bits) - 1) {
        value = fraction == 0 ? infinity : std::nan("");
    } else if (exponent == 0) {
        value = std::ldexp(fraction, 1 - bias - fraction_bits);
    } else {
        value = std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
    }
    return (bits & 0x8000) != 0 ? -value : value;
}

template <class Half>
constexpr int exponent_bits = 5;
template <>
constexpr int exponent_bits<Bfloat16> = 8;

template <class Half>
class Halves : public testing::Test {};
using Types = testing::Types<Float16, Bfloat16>;
TYPED_TEST_SUITE(Halves, Types);

TYPED_TEST(Halves, WidenExactlyAndComeBackUnchanged) {
    for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
        TypeParam half{};
        half.bits = static_cast<std::uint16_t>(bits);
        const double expected = value_of(half.bits, exponent_bits<TypeParam>);
        const auto wide = static_cast<float>(half);
        if (std::isnan(expected)) {
            ASSERT_TRUE(std::isnan(wide)) << bits;
            ASSERT_EQ(TypeParam(wide).bits, exponent_bits<TypeParam> == 5 ? 0x7e00 : 0x7fc0) << bits;
            continue;
        }
        ASSERT_EQ(wide, expected) << bits;
        ASSERT_EQ(std::signbit(wide), std::signbit(expected)) << bits;
        ASSERT_EQ(TypeParam(wide).bits, bits);
    }
}

// Midpoints of neighbors go to the even one; what is a bit to either side goes there.
TYPED_TEST(Halves, RoundToNearestEven) {
    const std::uint32_t largest = exponent_bits<TypeParam> == 5 ? 0x7bff : 0x7f7f;
    for (std::uint32_t bits = 0; bits < largest; ++bits) {
        const double low = value_of(static_cast<std::uint16_t>(bits), exponent_bits<TypeParam>);
        const double high = value_of(static_cast<std::uint16_t>(bits + 1), exponent_bits<TypeParam>);
        const auto middle = static_cast<float>((low + high) / 2);
        if (static_cast<double>(middle) != (low + high) / 2) continue;  // not representable in float32
        const std::uint32_t even = bits % 2 == 0 ? bits : bits + 1;
        ASSERT_EQ(TypeParam(middle).bits, even) << bits;
        ASSERT_EQ(TypeParam(-middle).bits, even | 0x8000) << bits;
        ASSERT_EQ(TypeParam(std::nextafter(middle, 0.0F)).bits, bits) << bits;
        ASSERT_EQ(TypeParam(std::nextafter(middle, std::numeric_limits<float>::infinity())).bits, bits + 1) << bits;
    }
}

TYPED_TEST(Halves, AreTheNearestOfRandomFloats) {
    std::mt19937 random(5);
    for (int turn = 0; turn < 200'000; ++turn) {
        const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
        const std::uint16_t bits = TypeParam(value).bits;
        if (std::isnan(value)) continue;
        const double chosen = value_of(bits, exponent_bits<TypeParam>);
        if (std::isinf(chosen)) {
            const double limit = exponent_bits<TypeParam> == 5 ? 65520.0 : std::ldexp(511.0, 119);  // halfway to the next power of two
            ASSERT_GE(std::fabs(static_cast<double>(value)), limit);
            continue;
        }
        const double error = std::fabs(chosen - static_cast<double>(value));
        for (const int step : {-1, 1}) {
            const double other = value_of(static_cast<std::uint16_t>(bits + step), exponent_bits<TypeParam>);
            ASSERT_FALSE(std::fabs(other - static_cast<double>(value)) < error) << value;  // also when it is no number
        }
    }
}

TEST(Float16, OverflowsFromHalfwayBeyondItsLargest) {
    EXPECT_EQ(Float16(65519.99F).bits, 0x7bff);
    EXPECT_EQ(Float16(65520.0F).bits, 0x7c00);
    EXPECT_EQ(Float16(-1e30F).bits, 0xfc00);
    EXPECT_EQ(Bfloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
}

}  // namespace
}  // namespace attune::core
