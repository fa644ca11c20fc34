#include "libcore/buffers.hpp"

#include "libcore/error.hpp"
#include "libcore/units.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace attune::core {

namespace {

constexpr std::byte guard_pattern{0xA5};
constexpr std::size_t alignment = 64;

bool all_guard(const std::byte* begin, std::size_t length) {
    return std::all_of(begin, begin + length, [](std::byte value) { return value == guard_pattern; });
}

[[noreturn]] void refuse(std::size_t bytes) {
    throw Error(ErrorCode::failure, "there is not enough memory for a buffer of " + format_bytes(bytes) + "; use smaller sizes");
}

}  // namespace

void Buffer::Free::operator()(std::byte* memory) const noexcept {
    std::free(memory);
}

// The rear guard starts right after the last byte, so a write one element too far is seen; only the total is rounded up.
Buffer::Buffer(std::size_t bytes) {
    constexpr std::size_t around = 2 * guard_bytes + alignment;
    if (bytes > std::numeric_limits<std::size_t>::max() - around) refuse(bytes);
    const std::size_t total = (bytes + 2 * guard_bytes + alignment - 1) / alignment * alignment;
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, total)));
    if (!memory_) refuse(bytes);
    data_ = memory_.get() + guard_bytes;
    size_ = bytes;
    std::memset(memory_.get(), std::to_integer<int>(guard_pattern), guard_bytes);
    std::memset(data_, 0, bytes);
    std::memset(data_ + bytes, std::to_integer<int>(guard_pattern), guard_bytes);
}

bool Buffer::guards_intact() const noexcept {
    if (!memory_) return true;
    return all_guard(memory_.get(), guard_bytes) && all_guard(data_ + size_, guard_bytes);
}

}  // namespace attune::core
