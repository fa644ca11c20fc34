// Multiplies elements in place, for averages.
#pragma once

#include "libcore/dtypes.hpp"

#include <cstddef>

namespace attune::collectives {

// data[i] *= factor for i < count; any NaN becomes the canonical one. Integers are left alone: plans never scale them.
void scale_elements(core::DType dtype, void* data, std::size_t count, double factor) noexcept;

}  // namespace attune::collectives
