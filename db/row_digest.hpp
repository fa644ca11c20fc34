// Digest of one stored row: SHA-256 over its values, each with its kind and length, so that no two different rows give the same bytes.
#pragma once

#include "libcore/crypto.hpp"

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace attune::db {

class RowDigest {
public:
    RowDigest& add(std::string_view text) { return add('t', std::as_bytes(std::span(text))); }
    RowDigest& add(const std::string& text) { return add(std::string_view(text)); }
    RowDigest& add(const char* text) { return add(std::string_view(text)); }
    RowDigest& add(std::int64_t value) { return add('i', std::as_bytes(std::span(&value, 1))); }
    RowDigest& add(std::uint64_t value) { return add(static_cast<std::int64_t>(value)); }
    RowDigest& add(double value) {
        value += 0.0;  // SQLite keeps no negative zero
        return add('d', std::as_bytes(std::span(&value, 1)));
    }
    RowDigest& add(std::span<const double> values) { return add('b', std::as_bytes(values)); }

    // First 64 bits, as SQLite's signed integer and as 16 hex digits.
    std::int64_t integer() const { return static_cast<std::int64_t>(core::digest64(std::as_bytes(std::span(bytes_)))); }
    std::string hex() const {
        const core::Digest full = core::sha256(std::string_view(bytes_));
        return core::hex(std::span(full).first(8));
    }

private:
    RowDigest& add(char kind, std::span<const std::byte> bytes) {
        const std::uint64_t size = bytes.size();
        bytes_ += kind;
        bytes_.append(reinterpret_cast<const char*>(&size), sizeof(size));
        bytes_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        return *this;
    }
    std::string bytes_;
};

}  // namespace attune::db
