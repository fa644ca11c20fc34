#include "db/footer.hpp"

#include "libcore/crypto.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace attune::db {

namespace {

static_assert(std::endian::native == std::endian::little, "the footer is little endian");

// Line ends in the magic show a file that was moved as text.
constexpr std::array<char, 8> magic = {'A', 'T', 'T', 'U', 'N', 'E', '\r', '\n'};
constexpr std::size_t format_at = 8, size_at = 12, length_at = 16, reserved_at = 24, digest_at = 32;
constexpr std::size_t smallest_page = 512;

template <class T>
T load(std::span<const std::byte> bytes, std::size_t at) {
    T value{};
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    return value;
}

template <class T>
void store(std::span<std::byte> bytes, std::size_t at, T value) {
    std::memcpy(bytes.data() + at, &value, sizeof(T));
}

}  // namespace

std::array<std::byte, footer_bytes> make_footer(std::span<const std::byte> image) {
    std::array<std::byte, footer_bytes> footer{};
    std::memcpy(footer.data(), magic.data(), magic.size());
    store<std::uint32_t>(footer, format_at, footer_format);
    store<std::uint32_t>(footer, size_at, footer_bytes);
    store<std::uint64_t>(footer, length_at, image.size() + footer_bytes);
    std::vector<std::byte> sealed(image.begin(), image.end());
    sealed.insert(sealed.end(), footer.begin(), footer.begin() + digest_at);
    const core::Digest digest = core::sha256(std::span<const std::byte>(sealed));
    std::ranges::copy(digest, footer.begin() + digest_at);
    return footer;
}

bool has_footer_magic(std::span<const std::byte> file) noexcept {
    return file.size() >= footer_bytes && std::memcmp(file.last(footer_bytes).data(), magic.data(), magic.size()) == 0;
}

std::span<std::byte> check_footer(std::span<std::byte> file, const std::string& path) {
    const auto damaged = [&path](const std::string& reason) { return ReleaseError(ReleaseError::Kind::damaged, path, reason); };
    if (file.size() < footer_bytes + smallest_page) throw damaged("truncated, or no release: only " + std::to_string(file.size()) + " bytes");
    const auto footer = file.last(footer_bytes);
    if (std::memcmp(footer.data(), magic.data(), magic.size()) != 0) throw damaged("truncated, or no release: no footer at its end");
    const auto format = load<std::uint32_t>(footer, format_at);
    if (format > footer_format) {
        throw ReleaseError(ReleaseError::Kind::newer, path,
                           "newer format: it has " + std::to_string(format) + ", this attune reads up to " + std::to_string(footer_format) + "; update attune");
    }
    if (format != footer_format || load<std::uint32_t>(footer, size_at) != footer_bytes || load<std::uint64_t>(footer, reserved_at) != 0) {
        throw damaged("malformed footer");
    }
    const auto length = load<std::uint64_t>(footer, length_at);
    if (length != file.size()) throw damaged("wrong length: " + std::to_string(file.size()) + " bytes, sealed with " + std::to_string(length));
    const core::Digest digest = core::sha256(std::span<const std::byte>(file.first(file.size() - footer_bytes + digest_at)));
    if (!std::ranges::equal(digest, footer.subspan(digest_at))) throw damaged("digest mismatch: its content has changed since it was sealed");
    return file.first(file.size() - footer_bytes);
}

}  // namespace attune::db
