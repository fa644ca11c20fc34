// The 64 bytes after the last page of a release: what the file is, how long it must be, and the digest of everything before the digest.
#pragma once

#include "db/one_line.hpp"
#include "libcore/error.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace attune::db {

inline constexpr std::size_t footer_bytes = 64;
inline constexpr std::uint32_t footer_format = 1;

// Why a release cannot be used. `context` is the file; everything but `missing` has code check_failed.
class ReleaseError : public core::Error {
public:
    enum class Kind { missing, unreadable, newer, damaged };
    ReleaseError(Kind kind, const std::string& path, const std::string& reason)
        : Error(kind == Kind::missing ? core::ErrorCode::not_found : core::ErrorCode::check_failed, one_line(path + ": " + reason)),
          kind_(kind),
          reason_(one_line(reason)) {}
    Kind kind() const noexcept { return kind_; }
    const std::string& reason() const noexcept { return reason_; }  // without the path

private:
    Kind kind_;
    std::string reason_;
};

// The footer that seals `image`.
std::array<std::byte, footer_bytes> make_footer(std::span<const std::byte> image);
// Whether the file ends in a footer's magic; says nothing about its soundness.
bool has_footer_magic(std::span<const std::byte> file) noexcept;
// The image without its footer. Throws ReleaseError (newer, damaged).
std::span<std::byte> check_footer(std::span<std::byte> file, const std::string& path);

}  // namespace attune::db
