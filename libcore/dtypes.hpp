// Element types and reduction operators by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace attune::core {

enum class DType : std::uint8_t { float32, float64, int32, int64 };

std::size_t size_of(DType dtype) noexcept;  // bytes of one element
std::string_view name_of(DType dtype) noexcept;
// Accepts the names and the aliases float, double, int. Throws Error(usage) naming the nearest.
DType parse_dtype(std::string_view text);
std::span<const DType> all_dtypes() noexcept;
bool is_floating(DType dtype) noexcept;

}  // namespace attune::core
