// Vectors of 16-bit floats to float32 and back, rounding to nearest even: with F16C in the files for AVX2 and more, else with integer operations
// of the same results. They equal core::Float16 and core::Bfloat16 for every bit pattern.
#pragma once

#include "collectives/kernels/vectors.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace attune::collectives {
namespace {

// Storage of the element types float16 and bfloat16.
enum class Half : std::uint16_t {};
enum class Brain : std::uint16_t {};

#if defined(__AVX512F__)
constexpr __mmask16 all_lanes = 0xffff;  // the masked forms: g++ 12 takes the others' undefined registers for uninitialized variables
#endif

template <std::size_t Lanes>
struct HalfLanes {
    using Narrow = Vector<std::uint16_t, Lanes>;
    using Words = Vector<std::uint32_t, Lanes>;
    using Numbers = Vector<std::int32_t, Lanes>;  // magnitudes are below 2^31: signed comparisons, which every instruction set has
    using Floats = Vector<float, Lanes>;
};

template <std::size_t Lanes>
[[gnu::always_inline]] inline typename HalfLanes<Lanes>::Words words_of(const typename HalfLanes<Lanes>::Narrow& bits) noexcept {
    using L = HalfLanes<Lanes>;
#if defined(__AVX2__)
    // g++ 12 widens the two halves of the vector one by one.
    if constexpr (Lanes == 8) return reinterpret_cast<typename L::Words>(_mm256_cvtepu16_epi32(reinterpret_cast<__m128i>(bits)));
#endif
#if defined(__AVX512F__)
    if constexpr (Lanes == 16) return reinterpret_cast<typename L::Words>(_mm512_maskz_cvtepu16_epi32(all_lanes, reinterpret_cast<__m256i>(bits)));
#endif
    return __builtin_convertvector(bits, typename L::Words);
}

template <std::size_t Lanes>
[[gnu::always_inline]] inline typename HalfLanes<Lanes>::Narrow halves_of(const typename HalfLanes<Lanes>::Words& words) noexcept {
    using L = HalfLanes<Lanes>;
#if defined(__AVX512F__)
    if constexpr (Lanes == 16) return reinterpret_cast<typename L::Narrow>(_mm512_maskz_cvtepi32_epi16(all_lanes, reinterpret_cast<__m512i>(words)));
#endif
    return __builtin_convertvector(words, typename L::Narrow);
}

template <std::size_t Lanes>
[[gnu::always_inline]] inline typename HalfLanes<Lanes>::Floats widen(Brain, const typename HalfLanes<Lanes>::Narrow& bits) noexcept {
    using L = HalfLanes<Lanes>;
    return reinterpret_cast<typename L::Floats>(words_of<Lanes>(bits) << 16);
}

// NaNs are canonical already: adding half a unit keeps them what they are.
template <std::size_t Lanes>
[[gnu::always_inline]] inline typename HalfLanes<Lanes>::Narrow rounded(Brain, const typename HalfLanes<Lanes>::Floats& value) noexcept {
    using L = HalfLanes<Lanes>;
    const auto bits = reinterpret_cast<typename L::Words>(value);
    return halves_of<Lanes>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

template <std::size_t Lanes>
[[gnu::always_inline]] inline typename HalfLanes<Lanes>::Floats widen(Half, const typename HalfLanes<Lanes>::Narrow& bits) noexcept {
    using L = HalfLanes<Lanes>;
#if defined(__AVX2__)
    if constexpr (Lanes == 8) return reinterpret_cast<typename L::Floats>(_mm256_cvtph_ps(reinterpret_cast<__m128i>(bits)));
#endif
#if defined(__AVX512F__)
    if constexpr (Lanes == 16) return reinterpret_cast<typename L::Floats>(_mm512_maskz_cvtph_ps(all_lanes, reinterpret_cast<__m256i>(bits)));
#endif
    const auto words = __builtin_convertvector(bits, typename L::Numbers);
    const typename L::Numbers sign = (words & 0x8000) << 16;
    const typename L::Numbers magnitude = words & 0x7fff;
    // Normal numbers move to the other exponent bias; infinities and NaNs get all exponent bits; subnormal numbers count units of 2^-24.
    const typename L::Numbers normal = (magnitude << 13) + (112 << 23);
    const typename L::Numbers special = (magnitude << 13) | 0x7f800000;
    const auto small = reinterpret_cast<typename L::Numbers>(__builtin_convertvector(magnitude, typename L::Floats) * 0x1p-24F);
    const typename L::Numbers finite = magnitude < 0x400 ? small : normal;
    return reinterpret_cast<typename L::Floats>((magnitude < 0x7c00 ? finite : special) | sign);
}

template <std::size_t Lanes>
[[gnu::always_inline]] inline typename HalfLanes<Lanes>::Narrow rounded(Half, const typename HalfLanes<Lanes>::Floats& value) noexcept {
    using L = HalfLanes<Lanes>;
#if defined(__AVX2__)
    if constexpr (Lanes == 8) return reinterpret_cast<typename L::Narrow>(_mm256_cvtps_ph(reinterpret_cast<__m256>(value), _MM_FROUND_TO_NEAREST_INT));
#endif
#if defined(__AVX512F__)
    if constexpr (Lanes == 16)
        return reinterpret_cast<typename L::Narrow>(_mm512_maskz_cvtps_ph(all_lanes, reinterpret_cast<__m512>(value), _MM_FROUND_TO_NEAREST_INT));
#endif
    const auto bits = reinterpret_cast<typename L::Words>(value);
    const auto magnitude = reinterpret_cast<typename L::Numbers>(bits & 0x7fffffffU);
    const auto sign = reinterpret_cast<typename L::Numbers>((bits >> 16) & 0x8000U);
    const typename L::Numbers normal = (magnitude + 0xfff + ((magnitude >> 13) & 1) - (112 << 23)) >> 13;
    // One unit in the last place of 0.5 is 2^-24, the step of subnormal numbers: the addition rounds to it.
    const typename L::Numbers small = reinterpret_cast<typename L::Numbers>(reinterpret_cast<typename L::Floats>(magnitude) + 0.5F) - 0x3f000000;
    const typename L::Numbers finite = magnitude < 0x38800000 ? small : normal;
    const typename L::Numbers infinity = finite * 0 + 0x7c00;
    const typename L::Numbers special = magnitude > 0x7f800000 ? infinity + 0x200 : infinity;
    const typename L::Numbers result = (magnitude < 0x477ff000 ? finite : special) | sign;  // 65520 and more is infinity
    return __builtin_convertvector(result, typename L::Narrow);
}

}  // namespace
}  // namespace attune::collectives
