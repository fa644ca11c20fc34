#include "tuner/engine/shared_area.hpp"

#include "libcore/error.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

namespace attune::tuner::engine {

namespace {

// Layout: common lines, lines of each rank, starts and ends of each rank, text. Zero-filled memory is the valid first state of all of it.
constexpr std::size_t rows_bytes = SharedArea::row_capacity * sizeof(std::int64_t);

std::size_t lines_end(int ranks) noexcept {
    return sizeof(CommonLines) + static_cast<std::size_t>(ranks) * sizeof(RankLines);
}
std::size_t rows_end(int ranks) noexcept {
    return lines_end(ranks) + static_cast<std::size_t>(ranks) * 2 * rows_bytes;
}

core::Error memory_error(const char* what, std::size_t bytes) {
    return core::Error(core::ErrorCode::failure, std::string("cannot ") + what + " " + std::to_string(bytes) +
                                                     " bytes of shared memory for the arena: " + std::strerror(errno) + "; free memory or use fewer ranks");
}

std::byte* map(int descriptor, std::size_t bytes) {
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (memory == MAP_FAILED) throw memory_error("map", bytes);
    return static_cast<std::byte*>(memory);
}

}  // namespace

std::size_t SharedArea::total_bytes(int ranks) noexcept {
    return rows_end(ranks) + text_capacity;
}

SharedArea SharedArea::create(int ranks) {
    const std::size_t bytes = total_bytes(ranks);
    const int descriptor = ::memfd_create("attune-arena", MFD_CLOEXEC);
    if (descriptor < 0) throw memory_error("create", bytes);
    if (::ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) {
        const core::Error error = memory_error("size", bytes);
        ::close(descriptor);
        throw error;
    }
    return {descriptor, map(descriptor, bytes), ranks};
}

SharedArea SharedArea::attach(int descriptor, int ranks) {
    return {-1, map(descriptor, total_bytes(ranks)), ranks};
}

SharedArea::SharedArea(SharedArea&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), memory_(std::exchange(other.memory_, nullptr)), ranks_(other.ranks_) {}

SharedArea::~SharedArea() {
    if (memory_ != nullptr) ::munmap(memory_, total_bytes(ranks_));
    if (descriptor_ >= 0) ::close(descriptor_);
}

CommonLines& SharedArea::common() noexcept {
    return *reinterpret_cast<CommonLines*>(memory_);
}

RankLines& SharedArea::lines(int rank) noexcept {
    return reinterpret_cast<RankLines*>(memory_ + sizeof(CommonLines))[rank];
}

std::span<std::int64_t> SharedArea::starts(int rank) noexcept {
    return {reinterpret_cast<std::int64_t*>(memory_ + lines_end(ranks_) + static_cast<std::size_t>(rank) * 2 * rows_bytes), row_capacity};
}

std::span<std::int64_t> SharedArea::ends(int rank) noexcept {
    return {starts(rank).data() + row_capacity, row_capacity};
}

void SharedArea::write_text(std::string_view text) {
    if (text.size() > text_capacity) {
        throw core::Error(core::ErrorCode::failure, "the candidates of one problem take " + std::to_string(text.size()) + " bytes of text, more than " +
                                                        std::to_string(text_capacity) + "; tune fewer values of an axis at a time");
    }
    std::copy(text.begin(), text.end(), reinterpret_cast<char*>(memory_ + rows_end(ranks_)));
}

std::string_view SharedArea::text(std::size_t bytes) const noexcept {
    return {reinterpret_cast<const char*>(memory_ + rows_end(ranks_)), std::min(bytes, text_capacity)};
}

}  // namespace attune::tuner::engine
