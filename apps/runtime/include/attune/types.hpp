// The words of attune: collectives, element types, operators, errors. Included by <attune/attune.hpp>.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

#define ATTUNE_EXPORT __attribute__((visibility("default")))

namespace attune {

// The values of the three enumerations never change; attune.h has the same.
enum class Collective : std::uint8_t {
    all_reduce,
    all_gather,
    reduce_scatter,
    broadcast,
    reduce,
    gather,
    scatter,
    all_to_all,
    barrier,
    scan,
    exscan,
    all_gather_v,
    reduce_scatter_v,
    gather_v,
    scatter_v,
    all_to_all_v,
    send_recv,
    batch_send_recv
};
enum class DType : std::uint8_t { float32, float64, int32, int64, int8, int16, uint8, uint16, uint32, uint64, float16, bfloat16 };

// Integers wrap. 16-bit floats accumulate in float32 and are rounded once. avg: floating types only; band, bor, bxor: integers only. Any NaN makes the
// canonical quiet NaN, min(-0,+0) = -0, max(-0,+0) = +0.
enum class Op : std::uint8_t { sum, prod, min, max, avg, band, bor, bxor };

// Storage of the two 16-bit floats, bit for bit as in PyTorch, CUDA and std::float16_t.
struct float16 {
    std::uint16_t bits;
};
struct bfloat16 {
    std::uint16_t bits;
};

// Every failure. exit_code() is what a program should end with: 1 failure, 2 wrong use, 3 no applicable row or 4 a damaged database with
// ATTUNE_DB_MODE=require.
class ATTUNE_EXPORT Error : public std::runtime_error {
public:
    Error(int exit_code, const std::string& message) : std::runtime_error(message), exit_code_(exit_code) {}
    int exit_code() const noexcept { return exit_code_; }

private:
    int exit_code_;
};

namespace detail {

// Every integer of 1, 2, 4 or 8 bytes, whatever its name (long and long long are both 8).
template <class T>
constexpr DType integer_dtype() {
    constexpr bool is_signed = std::is_signed_v<T>;
    if constexpr (sizeof(T) == 1) return is_signed ? DType::int8 : DType::uint8;
    if constexpr (sizeof(T) == 2) return is_signed ? DType::int16 : DType::uint16;
    if constexpr (sizeof(T) == 4) return is_signed ? DType::int32 : DType::uint32;
    return is_signed ? DType::int64 : DType::uint64;
}

}  // namespace detail

// Whether attune moves elements of this C++ type: float, double, attune::float16, attune::bfloat16, std::byte and integers other than bool.
template <class T>
constexpr bool is_element = std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, float16> || std::is_same_v<T, bfloat16> ||
                            std::is_same_v<T, std::byte> || (std::is_integral_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= 8);

// The DType of a C++ type. Other 16-bit floats (torch::Half, __bf16) are cast to attune::float16 or attune::bfloat16 pointers.
template <class T>
constexpr DType dtype_of() {
    static_assert(is_element<T>, "attune moves integers, float, double, std::byte, attune::float16 and attune::bfloat16");
    if constexpr (std::is_same_v<T, float>) return DType::float32;
    if constexpr (std::is_same_v<T, double>) return DType::float64;
    if constexpr (std::is_same_v<T, float16>) return DType::float16;
    if constexpr (std::is_same_v<T, bfloat16>) return DType::bfloat16;
    if constexpr (std::is_same_v<T, std::byte>) return DType::uint8;
    if constexpr (std::is_integral_v<T>) return detail::integer_dtype<T>();
}

}  // namespace attune
