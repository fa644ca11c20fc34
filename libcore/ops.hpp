// Reduction operators by name.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace attune::core {

enum class Op : std::uint8_t { sum, prod, min, max };

std::string_view name_of(Op op) noexcept;
Op parse_op(std::string_view text);  // throws Error(usage) naming the nearest
std::span<const Op> all_ops() noexcept;

}  // namespace attune::core
