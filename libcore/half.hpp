// The two 16-bit floats as C++ types: storage plus exact widening to float and one rounding (nearest even) back. Any NaN becomes the canonical quiet one.
#pragma once

#include <bit>
#include <cstdint>

namespace attune::core {

namespace detail {

constexpr std::uint32_t float_infinity = 0x7f800000U;

constexpr float widen_bfloat16(std::uint16_t bits) noexcept {
    return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

constexpr std::uint16_t round_to_bfloat16(float value) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if ((bits & 0x7fffffffU) > float_infinity) return 0x7fc0;
    return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

constexpr float widen_float16(std::uint16_t bits) noexcept {
    const std::uint32_t sign = (bits & 0x8000U) << 16;
    const std::uint32_t magnitude = bits & 0x7fffU;
    if (magnitude >= 0x7c00U) return std::bit_cast<float>(sign | float_infinity | (magnitude & 0x3ffU) << 13);
    // Below the first normal number the significand counts units of 2^-24.
    if (magnitude < 0x400U) return std::bit_cast<float>(std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * 0x1p-24F) | sign);
    return std::bit_cast<float>(sign | ((magnitude << 13) + (112U << 23)));
}

constexpr std::uint16_t round_to_float16(float value) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (bits >> 16) & 0x8000U;
    const std::uint32_t magnitude = bits & 0x7fffffffU;
    if (magnitude > float_infinity) return 0x7e00;
    if (magnitude >= 0x477ff000U) return static_cast<std::uint16_t>(sign | 0x7c00U);  // 65520 and more
    if (magnitude >= 0x38800000U) return static_cast<std::uint16_t>(sign | ((magnitude + 0xfffU + ((magnitude >> 13) & 1U) - (112U << 23)) >> 13));
    // One unit in the last place of 0.5 is 2^-24, the step of subnormal numbers: the addition rounds to it.
    const auto shifted = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F);
    return static_cast<std::uint16_t>(sign | (shifted - 0x3f000000U));
}

}  // namespace detail

// IEEE 754 binary16.
struct Float16 {
    std::uint16_t bits;

    constexpr Float16() noexcept = default;
    constexpr explicit Float16(float value) noexcept : bits(detail::round_to_float16(value)) {}
    constexpr explicit operator float() const noexcept { return detail::widen_float16(bits); }
};

// The upper half of a float32.
struct Bfloat16 {
    std::uint16_t bits;

    constexpr Bfloat16() noexcept = default;
    constexpr explicit Bfloat16(float value) noexcept : bits(detail::round_to_bfloat16(value)) {}
    constexpr explicit operator float() const noexcept { return detail::widen_bfloat16(bits); }
};

static_assert(sizeof(Float16) == 2 && sizeof(Bfloat16) == 2);

}  // namespace attune::core
