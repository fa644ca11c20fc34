// One set of fold kernels per instruction set, each compiled in a file of its own with its own compiler flags.
#pragma once

#include "collectives/kernels/fold.hpp"

#include <array>

namespace attune::collectives {

inline constexpr std::size_t kernel_dtypes = 4, kernel_ops = 4;
// Indexed by dtype and op.
using FoldTable = std::array<std::array<FoldKernel, kernel_ops>, kernel_dtypes>;

const FoldTable& fold_table_generic() noexcept;
const FoldTable& fold_table_avx2() noexcept;    // call its kernels only where the CPU has AVX2
const FoldTable& fold_table_avx512() noexcept;  // F, DQ, BW, VL

}  // namespace attune::collectives
