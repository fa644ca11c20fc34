#include "libcore/trace_format.hpp"

#include <cstring>

namespace attune::core {

namespace {

constexpr std::array<std::string_view, trace_kinds> kind_names = {"call", "post", "wait", "transfer", "reduce"};

// Four lanes, each of which is a bijection of its words one by one: multiplications by an odd number (that of FNV-1a) do not wait for each other.
class Digest {
public:
    void add(std::span<const std::byte> bytes) noexcept {
        for (; bytes.size() >= sizeof(lanes_); bytes = bytes.subspan(sizeof(lanes_)))
            mix(bytes);
        if (!bytes.empty()) mix(bytes);
    }
    std::uint64_t value() const noexcept {
        std::uint64_t all = 0;
        for (const std::uint64_t lane : lanes_)
            all = (all ^ lane) * prime;
        return all;
    }

private:
    static constexpr std::uint64_t prime = 0x100000001b3;

    void mix(std::span<const std::byte> bytes) noexcept {
        std::array<std::uint64_t, 4> words{};
        std::memcpy(words.data(), bytes.data(), bytes.size() < sizeof(words) ? bytes.size() : sizeof(words));
        for (std::size_t lane = 0; lane < words.size(); ++lane)
            lanes_[lane] = (lanes_[lane] ^ words[lane]) * prime;
    }

    std::array<std::uint64_t, 4> lanes_ = {1, 2, 3, 4};
};

}  // namespace

std::string_view name_of(TraceKind kind) noexcept {
    return kind_names[static_cast<std::size_t>(kind)];
}

std::uint64_t digest_of(TraceFileHeader header) noexcept {
    header.digest = 0;
    Digest digest;
    digest.add(std::as_bytes(std::span(&header, 1)));
    return digest.value();
}

std::uint64_t digest_of(TraceBlockHeader header, std::span<const std::byte> payload) noexcept {
    header.digest = 0;
    Digest digest;
    digest.add(std::as_bytes(std::span(&header, 1)));
    digest.add(payload);
    return digest.value();
}

}  // namespace attune::core
