// From a dtype known at run time to code for its C++ type: the one switch over all of them.
#pragma once

#include "libcore/dtypes.hpp"
#include "libcore/half.hpp"

#include <cstdint>
#include <type_traits>
#include <utility>

namespace attune::core {

template <class T>
constexpr bool is_half = std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>;
// Of C++ types; std::is_floating_point_v does not know the 16-bit ones.
template <class T>
constexpr bool is_floating_type = std::is_floating_point_v<T> || is_half<T>;

// What folds accumulate in: float for 16-bit floats, else the type itself.
template <class T>
using Accumulator = std::conditional_t<is_half<T>, float, T>;

// visit(T{}) with the C++ type of the dtype; T is deduced: with_element_type(dtype, [&]<class T>(T) { ... }).
template <class Visit>
decltype(auto) with_element_type(DType dtype, Visit&& visit) {
    switch (dtype) {
        case DType::float32:
            return visit(float{});
        case DType::float64:
            return visit(double{});
        case DType::int32:
            return visit(std::int32_t{});
        case DType::int64:
            return visit(std::int64_t{});
        case DType::int8:
            return visit(std::int8_t{});
        case DType::int16:
            return visit(std::int16_t{});
        case DType::uint8:
            return visit(std::uint8_t{});
        case DType::uint16:
            return visit(std::uint16_t{});
        case DType::uint32:
            return visit(std::uint32_t{});
        case DType::uint64:
            return visit(std::uint64_t{});
        case DType::float16:
            return visit(Float16{});
        case DType::bfloat16:
            return visit(Bfloat16{});
    }
    return visit(float{});  // not reached: dtypes are checked where they enter
}

}  // namespace attune::core
