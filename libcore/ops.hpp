// Reduction operators by name, and which types they work on.
#pragma once

#include "libcore/dtypes.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace attune::core {

// The values are part of the C interface and of stored tables: new operators come last.
//   sum, prod      integers wrap; 16-bit floats accumulate in float32 over a whole fold and round once
//   min, max       a NaN wins; min(-0,+0) = -0, max(-0,+0) = +0
//   avg            the sum, divided by the number of ranks in the accumulation type; floating types only
//   band bor bxor  integers only
enum class Op : std::uint8_t { sum, prod, min, max, avg, band, bor, bxor };

std::string_view name_of(Op op) noexcept;
Op parse_op(std::string_view text);  // the names and a few aliases; throws Error(usage) naming the nearest
std::span<const Op> all_ops() noexcept;

// Why the operator does not work on this type and what does, or nothing when it works.
std::optional<std::string> unsupported(DType dtype, Op op);

}  // namespace attune::core
