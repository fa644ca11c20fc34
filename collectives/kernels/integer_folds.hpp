// Folds of integers. What wraps is computed unsigned, and signed types share it; bitwise operators share one kernel for all sizes.
#pragma once

#include "collectives/kernels/fold_loop.hpp"

namespace attune::collectives {
namespace {

template <typename T>
struct Integer {
    using Storage = T;
    static constexpr std::size_t lanes = widest / sizeof(T);

    template <std::size_t N>
    struct Lanes {
        using Values = Vector<T, N>;
        static Values load(const std::byte* from) noexcept { return load_vector<Values>(from); }
        static void store(std::byte* to, const Values& values) noexcept { store_vector(to, values); }

        template <core::Op op>
        static Values apply(const Values& a, const Values& b) noexcept {
            if constexpr (op == core::Op::sum) return a + b;
            if constexpr (op == core::Op::prod) return a * b;
            if constexpr (op == core::Op::min) return a < b ? a : b;
            if constexpr (op == core::Op::max) return a > b ? a : b;
            if constexpr (op == core::Op::band) return a & b;
            if constexpr (op == core::Op::bor) return a | b;
            if constexpr (op == core::Op::bxor) return a ^ b;
        }
    };
};

template <std::size_t Bytes, core::Op op>
void fold_bits(void* destination, const void* const* sources, std::size_t source_count, std::size_t count) noexcept {
    fold<Integer<std::uint8_t>, op>(destination, sources, source_count, count * Bytes);
}

template <typename T, typename Unsigned>
constexpr FoldRow integer_row = {
    {fold<Integer<Unsigned>, core::Op::sum>, fold<Integer<Unsigned>, core::Op::prod>, fold<Integer<T>, core::Op::min>, fold<Integer<T>, core::Op::max>, nullptr,
     fold_bits<sizeof(T), core::Op::band>, fold_bits<sizeof(T), core::Op::bor>, fold_bits<sizeof(T), core::Op::bxor>},
    nullptr};

// In the order of core::DType; floats have no row here.
constexpr FoldTable integer_table = {{{},
                                      {},
                                      integer_row<std::int32_t, std::uint32_t>,
                                      integer_row<std::int64_t, std::uint64_t>,
                                      integer_row<std::int8_t, std::uint8_t>,
                                      integer_row<std::int16_t, std::uint16_t>,
                                      integer_row<std::uint8_t, std::uint8_t>,
                                      integer_row<std::uint16_t, std::uint16_t>,
                                      integer_row<std::uint32_t, std::uint32_t>,
                                      integer_row<std::uint64_t, std::uint64_t>,
                                      {},
                                      {}}};

}  // namespace
}  // namespace attune::collectives
