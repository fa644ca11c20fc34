// Element types as the oracle of exact validation sees them. The 16-bit floats are converted by definition (sign, exponent, significand), not by the
// code that the collectives use.
#pragma once

#include "libcore/dtypes.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace attune::tuner::engine {

// IEEE 754 interchange formats of 16 bits: float16 has 10 bits of significand, bfloat16 has 7.
template <int SignificandBits>
struct ShortFloat {
    static constexpr int significand_bits = SignificandBits;
    static constexpr int exponent_bits = 15 - SignificandBits;
    static constexpr int bias = (1 << (exponent_bits - 1)) - 1;
    std::uint16_t bits = 0;
};
using Half = ShortFloat<10>;
using Brain = ShortFloat<7>;

template <class T>
inline constexpr bool is_short = std::is_same_v<T, Half> || std::is_same_v<T, Brain>;
template <class T>
inline constexpr bool is_float = is_short<T> || std::is_floating_point_v<T>;

// Integers of magnitude up to 2^precision are exact.
template <class T>
constexpr int precision() noexcept {
    if constexpr (is_short<T>) return T::significand_bits + 1;
    return std::numeric_limits<T>::digits;
}

// Largest e for which both 2^e and 2^-e are normal numbers.
template <class T>
constexpr int exponent_limit() noexcept {
    if constexpr (is_short<T>) return T::bias - 1;
    return -std::numeric_limits<T>::min_exponent + 1;
}

template <class T>
double decode(T value) noexcept {
    if constexpr (!is_short<T>) {
        return static_cast<double>(value);
    } else {
        const int exponent = value.bits >> T::significand_bits & ((1 << T::exponent_bits) - 1);
        const int fraction = value.bits & ((1 << T::significand_bits) - 1);
        const int significand = exponent == 0 ? fraction : fraction | 1 << T::significand_bits;
        double magnitude = std::ldexp(significand, (exponent == 0 ? 1 : exponent) - T::bias - T::significand_bits);
        if (exponent == (1 << T::exponent_bits) - 1) magnitude = fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : HUGE_VAL;
        return value.bits >> 15 != 0 ? -magnitude : magnitude;
    }
}

// `value` must be representable in T: the oracle's results are.
template <class T>
T encode(double value) noexcept {
    if constexpr (!is_short<T>) {
        return static_cast<T>(value);
    } else {
        const int sign = std::signbit(value) ? 1 << 15 : 0;
        if (value == 0) return {static_cast<std::uint16_t>(sign)};
        int exponent = 0;
        std::frexp(value, &exponent);  // magnitude in [2^(exponent - 1), 2^exponent)
        const int biased = std::max(exponent - 1 + T::bias, 0);
        const int scale = std::max(biased, 1) - T::bias - T::significand_bits;
        const auto significand = static_cast<int>(std::ldexp(std::fabs(value), -scale));
        const int fraction = significand & ((1 << T::significand_bits) - 1);
        return {static_cast<std::uint16_t>(sign | biased << T::significand_bits | fraction)};
    }
}

// Calls action with a value of the element type.
template <class Action>
auto with_type(core::DType dtype, Action action) {
    switch (dtype) {
        case core::DType::float64:
            return action(double{});
        case core::DType::float16:
            return action(Half{});
        case core::DType::bfloat16:
            return action(Brain{});
        case core::DType::int8:
            return action(std::int8_t{});
        case core::DType::int16:
            return action(std::int16_t{});
        case core::DType::int32:
            return action(std::int32_t{});
        case core::DType::int64:
            return action(std::int64_t{});
        case core::DType::uint8:
            return action(std::uint8_t{});
        case core::DType::uint16:
            return action(std::uint16_t{});
        case core::DType::uint32:
            return action(std::uint32_t{});
        case core::DType::uint64:
            return action(std::uint64_t{});
        case core::DType::float32:
            break;
    }
    return action(float{});
}

}  // namespace attune::tuner::engine
