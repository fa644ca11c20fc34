// The fold kernels, written once over GCC vectors. Everything is in an unnamed namespace and nothing inline of the standard library is used, so
// that files compiled for different instruction sets share no code.
#pragma once

#include "collectives/kernels/fold_table.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace attune::collectives {
namespace {

#if defined(__AVX512F__)
constexpr std::size_t widest = 64;
#elif defined(__AVX2__)
constexpr std::size_t widest = 32;
#else
constexpr std::size_t widest = 16;
#endif

template <typename T, std::size_t Bytes>
struct Lanes {
    using Vector [[gnu::vector_size(Bytes)]] = T;
};
template <typename T, std::size_t Bytes>
using Vector = typename Lanes<T, Bytes>::Vector;

// Integers as unsigned, so that they wrap; floats as their bits where signs and NaNs are made exact.
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
template <>
struct Bits<std::int32_t> {
    using Type = std::uint32_t;
};
template <>
struct Bits<std::int64_t> {
    using Type = std::uint64_t;
};

template <typename T>
constexpr bool floating = false;
template <>
constexpr bool floating<float> = true;
template <>
constexpr bool floating<double> = true;

template <typename T, std::size_t N>
struct Arithmetic {
    using V = Vector<T, N>;
    using U = Vector<typename Bits<T>::Type, N>;

    static V sum(V a, V b) noexcept {
        if constexpr (floating<T>) return a + b;
        return reinterpret_cast<V>(reinterpret_cast<U>(a) + reinterpret_cast<U>(b));
    }
    static V prod(V a, V b) noexcept {
        if constexpr (floating<T>) return a * b;
        return reinterpret_cast<V>(reinterpret_cast<U>(a) * reinterpret_cast<U>(b));
    }
    // Neither smaller: equal, or a NaN is there. OR keeps equal numbers, makes -0 of the two zeros, and keeps a NaN a NaN.
    static V min(V a, V b) noexcept {
        if constexpr (!floating<T>) return a < b ? a : b;
        const V tie = reinterpret_cast<V>(reinterpret_cast<U>(a) | reinterpret_cast<U>(b));
        const V rest = b < a ? b : tie;
        return a < b ? a : rest;
    }
    // The same with signs flipped: +0 of the two zeros.
    static V max(V a, V b) noexcept {
        if constexpr (!floating<T>) {
            return a > b ? a : b;
        } else {
            const U sign = U{} + Bits<T>::sign;
            const V tie = reinterpret_cast<V>(((reinterpret_cast<U>(a) ^ sign) | (reinterpret_cast<U>(b) ^ sign)) ^ sign);
            const V rest = b > a ? b : tie;
            return a > b ? a : rest;
        }
    }
    // NaNs stay NaNs through every operation, so their bits are made canonical once, at the end.
    static V finish(V value) noexcept {
        if constexpr (!floating<T>) {
            return value;
        } else {
            const U nan = U{} + Bits<T>::nan;
            return value == value ? value : reinterpret_cast<V>(nan);
        }
    }
};

template <typename T, core::Op op, std::size_t N>
Vector<T, N> apply(Vector<T, N> a, Vector<T, N> b) noexcept {
    using A = Arithmetic<T, N>;
    if constexpr (op == core::Op::sum) return A::sum(a, b);
    if constexpr (op == core::Op::prod) return A::prod(a, b);
    if constexpr (op == core::Op::min) return A::min(a, b);
    if constexpr (op == core::Op::max) return A::max(a, b);
}

struct Operands {
    std::byte* destination;
    const void* const* sources;
    std::size_t count;  // of sources

    const std::byte* source(std::size_t index) const noexcept { return static_cast<const std::byte*>(sources[index]); }
};

template <typename V>
V load(const std::byte* from) noexcept {
    V value;
    std::memcpy(&value, from, sizeof(value));
    return value;
}

// `Unroll` vectors at byte `at`: all sources are read before anything is written.
template <typename T, core::Op op, std::size_t N, std::size_t Unroll>
[[gnu::always_inline]] inline void fold_block(const Operands& operands, std::size_t at) noexcept {
    using V = Vector<T, N>;
    V values[Unroll];
    for (std::size_t lane = 0; lane < Unroll; ++lane)
        values[lane] = load<V>(operands.source(0) + at + lane * N);
    for (std::size_t index = 1; index < operands.count; ++index) {
        const std::byte* const source = operands.source(index) + at;
        for (std::size_t lane = 0; lane < Unroll; ++lane)
            values[lane] = apply<T, op, N>(values[lane], load<V>(source + lane * N));
    }
    for (std::size_t lane = 0; lane < Unroll; ++lane) {
        const V result = Arithmetic<T, N>::finish(values[lane]);
        std::memcpy(operands.destination + at + lane * N, &result, N);
    }
}

template <typename T, core::Op op>
[[gnu::always_inline]] inline void fold_bytes(const Operands& operands, std::size_t bytes) noexcept {
    std::size_t at = 0;
    for (; at + 4 * widest <= bytes; at += 4 * widest)
        fold_block<T, op, widest, 4>(operands, at);
    for (; at + widest <= bytes; at += widest)
        fold_block<T, op, widest, 1>(operands, at);
    if constexpr (widest > 16) {
        for (; at + 16 <= bytes; at += 16)
            fold_block<T, op, 16, 1>(operands, at);
    }
    for (; at < bytes; at += sizeof(T))
        fold_block<T, op, sizeof(T), 1>(operands, at);
}

template <typename T, core::Op op>
void fold(void* destination, const void* const* sources, std::size_t source_count, std::size_t count) noexcept {
    const std::size_t bytes = count * sizeof(T);
    auto* const target = static_cast<std::byte*>(destination);
    // Constant source counts let the compiler unroll the two commonest folds.
    if (source_count == 2) return fold_bytes<T, op>({target, sources, 2}, bytes);
    if (source_count == 3) return fold_bytes<T, op>({target, sources, 3}, bytes);
    if (source_count > 1) return fold_bytes<T, op>({target, sources, source_count}, bytes);
    if (bytes != 0 && destination != sources[0]) std::memcpy(destination, sources[0], bytes);
}

template <typename T>
constexpr std::array<FoldKernel, kernel_ops> kernels_of = {fold<T, core::Op::sum>, fold<T, core::Op::prod>, fold<T, core::Op::min>, fold<T, core::Op::max>};

constexpr FoldTable table = {kernels_of<float>, kernels_of<double>, kernels_of<std::int32_t>, kernels_of<std::int64_t>};

}  // namespace
}  // namespace attune::collectives
