#include "libcore/crypto.hpp"

#include "libcore/error.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <limits>

namespace attune::core {

Digest sha256(std::span<const std::byte> data) {
    Digest digest{};
    unsigned int length = 0;
    const int ok = EVP_Digest(data.data(), data.size(), reinterpret_cast<unsigned char*>(digest.data()), &length, EVP_sha256(), nullptr);
    if (ok != 1 || length != digest.size())
        throw Error(ErrorCode::failure, "SHA-256 is not available in this OpenSSL; check its configuration (FIPS providers)");
    return digest;
}

Digest sha256(std::string_view text) {
    return sha256(std::as_bytes(std::span(text.data(), text.size())));
}

Digest hmac_sha256(std::span<const std::byte> key, std::span<const std::byte> data) {
    if (key.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) throw Error(ErrorCode::failure, "an HMAC key is limited to 2 GiB");
    Digest digest{};
    unsigned int length = 0;
    const std::byte none{};  // OpenSSL refuses a null key even when its length is 0
    const void* key_data = key.empty() ? &none : key.data();
    const auto* result = HMAC(EVP_sha256(), key_data, static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(data.data()), data.size(),
                              reinterpret_cast<unsigned char*>(digest.data()), &length);
    if (result == nullptr || length != digest.size())
        throw Error(ErrorCode::failure, "HMAC-SHA-256 is not available in this OpenSSL; check its configuration (FIPS providers)");
    return digest;
}

bool equal_constant_time(std::span<const std::byte> a, std::span<const std::byte> b) noexcept {
    if (a.size() != b.size()) return false;
    return a.empty() || CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

void random_bytes(std::span<std::byte> out) {
    // RAND_bytes counts in int.
    while (!out.empty()) {
        const std::size_t part = std::min<std::size_t>(out.size(), 1U << 20);
        if (RAND_bytes(reinterpret_cast<unsigned char*>(out.data()), static_cast<int>(part)) != 1) {
            throw Error(ErrorCode::failure, "OpenSSL has no random bytes; the system's entropy source is not ready");
        }
        out = out.subspan(part);
    }
}

std::string hex(std::span<const std::byte> bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string out;
    out.reserve(bytes.size() * 2);
    for (const std::byte value : bytes) {
        out += digits[std::to_integer<std::size_t>(value >> 4)];
        out += digits[std::to_integer<std::size_t>(value & std::byte{15})];
    }
    return out;
}

std::uint64_t digest64(std::span<const std::byte> data) {
    const Digest digest = sha256(data);
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof value; ++i)
        value |= std::to_integer<std::uint64_t>(digest[i]) << (8 * i);
    return value;
}

}  // namespace attune::core
