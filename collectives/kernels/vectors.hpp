// The vector layer of the kernels: GCC vectors as wide as the instruction set the file is compiled for. Another instruction set (NEON: 16 bytes, as in
// the generic case) needs a file of each family compiled with its flags, and its line in fold.cpp. Everything is in an unnamed namespace and nothing
// inline of the standard library is used, so that files compiled for different instruction sets share no code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace attune::collectives {
namespace {

#if defined(__AVX512F__)
constexpr std::size_t widest = 64;
#elif defined(__AVX2__)
constexpr std::size_t widest = 32;
#else
constexpr std::size_t widest = 16;
#endif

template <typename T, std::size_t Bytes>
struct VectorOf {
    using Type [[gnu::vector_size(Bytes)]] = T;
};
template <typename T, std::size_t Lanes>
using Vector = typename VectorOf<T, Lanes * sizeof(T)>::Type;

// Any alignment.
template <typename V>
[[gnu::always_inline]] inline V load_vector(const std::byte* from) noexcept {
    V value;
    std::memcpy(&value, from, sizeof(value));
    return value;
}

template <typename V>
[[gnu::always_inline]] inline void store_vector(std::byte* to, const V& value) noexcept {
    std::memcpy(to, &value, sizeof(value));
}

}  // namespace
}  // namespace attune::collectives
