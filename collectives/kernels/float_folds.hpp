// Folds of floating types. 16-bit ones are folded as float32 and rounded once, when they are stored; so are averages, after the division.
#pragma once

#include "collectives/kernels/fold_loop.hpp"
#include "collectives/kernels/half_vectors.hpp"

namespace attune::collectives {
namespace {

// Signs and NaNs are made exact on the bits.
template <typename T>
struct Bits;
template <>
struct Bits<float> {
    using Type = std::uint32_t;
    static constexpr Type sign = 0x80000000U, nan = 0x7fc00000U;
};
template <>
struct Bits<double> {
    using Type = std::uint64_t;
    static constexpr Type sign = 0x8000000000000000U, nan = 0x7ff8000000000000U;
};

template <typename T, std::size_t N>
struct FloatLanes {
    using Values = Vector<T, N>;
    using Words = Vector<typename Bits<T>::Type, N>;

    template <core::Op op>
    static Values apply(const Values& a, const Values& b) noexcept {
        if constexpr (op == core::Op::sum) return a + b;
        if constexpr (op == core::Op::prod) return a * b;
        if constexpr (op == core::Op::min) return min(a, b);
        if constexpr (op == core::Op::max) return max(a, b);
    }
    // Neither smaller: equal, or a NaN is there. OR keeps equal numbers, makes -0 of the two zeros, and keeps a NaN a NaN.
    static Values min(const Values& a, const Values& b) noexcept {
        const Values tie = reinterpret_cast<Values>(reinterpret_cast<Words>(a) | reinterpret_cast<Words>(b));
        const Values rest = b < a ? b : tie;
        return a < b ? a : rest;
    }
    // The same with signs flipped: +0 of the two zeros.
    static Values max(const Values& a, const Values& b) noexcept {
        const Words sign = Words{} + Bits<T>::sign;
        const Values tie = reinterpret_cast<Values>(((reinterpret_cast<Words>(a) ^ sign) | (reinterpret_cast<Words>(b) ^ sign)) ^ sign);
        const Values rest = b > a ? b : tie;
        return a > b ? a : rest;
    }
    // NaNs stay NaNs through every operation, so their bits are made canonical once, at the end.
    static Values finish(const Values& value) noexcept {
        const Words nan = Words{} + Bits<T>::nan;
        return value == value ? value : reinterpret_cast<Values>(nan);
    }
};

template <typename T>
struct Float {
    using Storage = T;
    using Computed = T;
    static constexpr std::size_t lanes = widest / sizeof(T);

    template <std::size_t N>
    struct Lanes : FloatLanes<T, N> {
        using Values = typename FloatLanes<T, N>::Values;
        static Values load(const std::byte* from) noexcept { return load_vector<Values>(from); }
        static void store(std::byte* to, const Values& values) noexcept { store_vector(to, Lanes::finish(values)); }
    };
};

template <typename Narrow>
struct SixteenBit {
    using Storage = Narrow;
    using Computed = float;
    static constexpr std::size_t lanes = widest / sizeof(float);

    template <std::size_t N>
    struct Lanes : FloatLanes<float, N> {
        using Values = typename FloatLanes<float, N>::Values;
        static Values load(const std::byte* from) noexcept { return widen<N>(Narrow{}, load_vector<Vector<std::uint16_t, N>>(from)); }
        static void store(std::byte* to, const Values& values) noexcept { store_vector(to, rounded<N>(Narrow{}, Lanes::finish(values))); }
    };
};

template <typename T>
struct Divide {
    T divisor;
    template <typename V>
    V operator()(const V& value) const noexcept {
        return value / divisor;
    }
};

template <typename Element>
void average(void* destination, const AverageSources& sources, std::size_t count) noexcept {
    using T = typename Element::Computed;
    const Divide<T> divide{static_cast<T>(sources.divisor)};
    auto* const target = static_cast<std::byte*>(destination);
    if (sources.count == 2) return fold_elements<Element, core::Op::sum>({target, sources.pointers, 2}, count, divide);
    fold_elements<Element, core::Op::sum>({target, sources.pointers, sources.count}, count, divide);
}

template <typename Element>
constexpr FoldRow float_row = {{fold<Element, core::Op::sum>, fold<Element, core::Op::prod>, fold<Element, core::Op::min>, fold<Element, core::Op::max>,
                                fold<Element, core::Op::sum>, nullptr, nullptr, nullptr},
                               average<Element>};

// In the order of core::DType; integers have no row here.
constexpr FoldTable float_table = {
    {float_row<Float<float>>, float_row<Float<double>>, {}, {}, {}, {}, {}, {}, {}, {}, float_row<SixteenBit<Half>>, float_row<SixteenBit<Brain>>}};

}  // namespace
}  // namespace attune::collectives
