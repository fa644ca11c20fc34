// The kernels of one instruction set: two families, each compiled in a file of its own with its own compiler flags.
#pragma once

#include "collectives/kernels/fold.hpp"

#include <array>

namespace attune::collectives {

inline constexpr std::size_t kernel_dtypes = 12, kernel_ops = 8;

struct FoldRow {
    std::array<FoldKernel, kernel_ops> folds{};  // by op; null where the type has no such operator
    AverageKernel average = nullptr;             // floating types
};
using FoldTable = std::array<FoldRow, kernel_dtypes>;  // by dtype; a family's table has the rows of its types only

// Call the kernels of the last two only where the CPU has AVX2 and F16C, and AVX-512 F, DQ, BW, VL.
const FoldTable& integer_folds_generic() noexcept;
const FoldTable& integer_folds_avx2() noexcept;
const FoldTable& integer_folds_avx512() noexcept;
const FoldTable& float_folds_generic() noexcept;
const FoldTable& float_folds_avx2() noexcept;
const FoldTable& float_folds_avx512() noexcept;

}  // namespace attune::collectives
