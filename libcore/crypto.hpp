// SHA-256, HMAC and random bytes through OpenSSL's libcrypto.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace attune::core {

using Digest = std::array<std::byte, 32>;

Digest sha256(std::span<const std::byte> data);
Digest sha256(std::string_view text);
Digest hmac_sha256(std::span<const std::byte> key, std::span<const std::byte> data);
bool equal_constant_time(std::span<const std::byte> a, std::span<const std::byte> b) noexcept;
void random_bytes(std::span<std::byte> out);  // throws Error(failure)
std::string hex(std::span<const std::byte> bytes);
std::uint64_t digest64(std::span<const std::byte> data);  // first 8 bytes of SHA-256, little endian

}  // namespace attune::core
