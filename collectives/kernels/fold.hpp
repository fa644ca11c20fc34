// Reduction kernels, commutative bit for bit on every instruction set: any NaN becomes the canonical quiet NaN, min(-0,+0) = -0, max(-0,+0) = +0,
// integers wrap, 16-bit floats accumulate in float32 and are rounded once (nearest even). Chosen once by CPU features at run time.
#pragma once

#include "libcore/dtypes.hpp"
#include "libcore/ops.hpp"

#include <cstddef>
#include <string_view>

namespace attune::collectives {

// destination[i] = ((s0[i] op s1[i]) op s2[i]) ... for i < count; source_count >= 1 (1 = copy, bits unchanged). A source may be the
// destination itself (same address), no other overlap. `count` in elements. No alignment needed.
using FoldKernel = void (*)(void* destination, const void* const* sources, std::size_t source_count, std::size_t count) noexcept;

// Null for a pair that core::unsupported() names. The fold of avg is that of sum: the division comes last, with average_kernel().
FoldKernel fold_kernel(core::DType dtype, core::Op op) noexcept;

struct AverageSources {
    const void* const* pointers = nullptr;
    std::size_t count = 1;
    int divisor = 1;  // the number of ranks
};
// destination[i] = (s0[i] + s1[i] + ...) / divisor, rounded once; one source is divided as well.
using AverageKernel = void (*)(void* destination, const AverageSources& sources, std::size_t count) noexcept;

// Null for integers.
AverageKernel average_kernel(core::DType dtype) noexcept;

// The same for a named instruction set ("generic", "avx2", "avx512"), or null when this CPU lacks it; for tests.
FoldKernel fold_kernel_for(std::string_view instruction_set, core::DType dtype, core::Op op) noexcept;
AverageKernel average_kernel_for(std::string_view instruction_set, core::DType dtype) noexcept;
std::string_view kernel_instruction_set() noexcept;

// Copies with non-temporal stores and a final store fence; any alignment.
void copy_streaming(void* destination, const void* source, std::size_t bytes) noexcept;

}  // namespace attune::collectives
