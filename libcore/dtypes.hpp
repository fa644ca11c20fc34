// Element types by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace attune::core {

// The values are part of the C interface and of stored tables: new types come last.
enum class DType : std::uint8_t { float32, float64, int32, int64, int8, int16, uint8, uint16, uint32, uint64, float16, bfloat16 };

std::size_t size_of(DType dtype) noexcept;  // bytes of one element
std::string_view name_of(DType dtype) noexcept;
// Accepts the names and the aliases float, double, half, int, char and so on. Throws Error(usage) naming the nearest.
DType parse_dtype(std::string_view text);
std::span<const DType> all_dtypes() noexcept;
bool is_floating(DType dtype) noexcept;
bool is_signed(DType dtype) noexcept;  // floats are

}  // namespace attune::core
