// The loop of every fold, over an element policy:
//   Storage                             type of an element in memory
//   lanes                               elements of the widest vector
//   Lanes<n>::Values                    vector of n elements while they are folded
//   Lanes<n>::load, store               from and to memory; store makes the result exact (canonical NaNs, one rounding)
//   Lanes<n>::apply<op>(a, b)           the operator
// Compiled once per instruction set, like vectors.hpp.
#pragma once

#include "collectives/kernels/fold_table.hpp"
#include "collectives/kernels/vectors.hpp"

namespace attune::collectives {
namespace {

struct Operands {
    std::byte* destination;
    const void* const* sources;
    std::size_t count;  // of sources

    const std::byte* source(std::size_t index) const noexcept { return static_cast<const std::byte*>(sources[index]); }
};

// What happens to a folded vector before it is stored: nothing, or the division of an average.
struct Plain {
    template <typename V>
    V operator()(V value) const noexcept {
        return value;
    }
};

// `Unroll` vectors of `N` elements at element `at`: all sources are read before anything is written.
template <typename Element, core::Op op, std::size_t N, std::size_t Unroll, typename Last>
[[gnu::always_inline]] inline void fold_block(const Operands& operands, std::size_t at, const Last& last) noexcept {
    using L = typename Element::template Lanes<N>;
    constexpr std::size_t step = N * sizeof(typename Element::Storage);
    const std::size_t offset = at * sizeof(typename Element::Storage);
    typename L::Values values[Unroll];
    for (std::size_t part = 0; part < Unroll; ++part)
        values[part] = L::load(operands.source(0) + offset + part * step);
    for (std::size_t index = 1; index < operands.count; ++index) {
        const std::byte* const source = operands.source(index) + offset;
        for (std::size_t part = 0; part < Unroll; ++part)
            values[part] = L::template apply<op>(values[part], L::load(source + part * step));
    }
    for (std::size_t part = 0; part < Unroll; ++part)
        L::store(operands.destination + offset + part * step, last(values[part]));
}

template <typename Element, core::Op op, typename Last = Plain>
[[gnu::always_inline]] inline void fold_elements(const Operands& operands, std::size_t elements, const Last& last = {}) noexcept {
    constexpr std::size_t wide = Element::lanes, narrow = Element::lanes * 16 / widest;
    std::size_t at = 0;
    for (; at + 4 * wide <= elements; at += 4 * wide)
        fold_block<Element, op, wide, 4>(operands, at, last);
    for (; at + wide <= elements; at += wide)
        fold_block<Element, op, wide, 1>(operands, at, last);
    if constexpr (narrow < wide) {
        for (; at + narrow <= elements; at += narrow)
            fold_block<Element, op, narrow, 1>(operands, at, last);
    }
    for (; at < elements; ++at)
        fold_block<Element, op, 1, 1>(operands, at, last);
}

template <typename Element, core::Op op>
void fold(void* destination, const void* const* sources, std::size_t source_count, std::size_t count) noexcept {
    auto* const target = static_cast<std::byte*>(destination);
    // Constant source counts let the compiler unroll the two commonest folds.
    if (source_count == 2) return fold_elements<Element, op>({target, sources, 2}, count);
    if (source_count == 3) return fold_elements<Element, op>({target, sources, 3}, count);
    if (source_count > 1) return fold_elements<Element, op>({target, sources, source_count}, count);
    if (count != 0 && destination != sources[0]) std::memcpy(destination, sources[0], count * sizeof(typename Element::Storage));
}

}  // namespace
}  // namespace attune::collectives
