// Integers of fixed size in little-endian byte order, for file and message formats.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace attune::core {

template <std::unsigned_integral T>
T load_little(const std::byte* from) noexcept {
    T value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i)
        value |= static_cast<T>(static_cast<T>(from[i]) << (8 * i));
    return value;
}

template <std::unsigned_integral T>
void append_little(std::vector<std::byte>& to, T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i)
        to.push_back(static_cast<std::byte>(value >> (8 * i) & 0xff));
}

// Doubles travel as their bit patterns.
inline double load_double(const std::byte* from) noexcept {
    return std::bit_cast<double>(load_little<std::uint64_t>(from));
}
inline void append_double(std::vector<std::byte>& to, double value) {
    append_little(to, std::bit_cast<std::uint64_t>(value));
}

}  // namespace attune::core
