// Reduction kernels, commutative bit for bit on every instruction set: any NaN becomes the canonical quiet NaN, min(-0,+0) = -0,
// max(-0,+0) = +0, integers wrap. Chosen once by CPU features at run time.
#pragma once

#include "libcore/dtypes.hpp"
#include "libcore/ops.hpp"

#include <cstddef>
#include <string_view>

namespace attune::collectives {

// destination[i] = ((s0[i] op s1[i]) op s2[i]) ... for i < count; source_count >= 1 (1 = copy, bits unchanged). A source may be the
// destination itself (same address), no other overlap. `count` in elements. No alignment needed.
using FoldKernel = void (*)(void* destination, const void* const* sources, std::size_t source_count, std::size_t count) noexcept;

FoldKernel fold_kernel(core::DType dtype, core::Op op) noexcept;
// The same for a named instruction set ("generic", "avx2", "avx512"), or null when this CPU lacks it; for tests.
FoldKernel fold_kernel_for(std::string_view instruction_set, core::DType dtype, core::Op op) noexcept;
std::string_view kernel_instruction_set() noexcept;

// Copies with non-temporal stores and a final store fence; any alignment.
void copy_streaming(void* destination, const void* source, std::size_t bytes) noexcept;

}  // namespace attune::collectives
