#include "tests/support/allocation_count.hpp"

#include <cstdlib>
#include <new>

namespace {

thread_local std::uint64_t count = 0;

}  // namespace

namespace attune::test {

std::uint64_t allocations() noexcept {
    return count;
}

}  // namespace attune::test

void* operator new(std::size_t bytes) {
    ++count;
    if (void* const memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
    throw std::bad_alloc();
}

void* operator new(std::size_t bytes, std::align_val_t alignment) {
    ++count;
    const auto boundary = static_cast<std::size_t>(alignment);
    if (void* const memory = std::aligned_alloc(boundary, (bytes + boundary - 1) / boundary * boundary)) return memory;
    throw std::bad_alloc();
}

void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    ++count;
    return std::malloc(bytes == 0 ? 1 : bytes);
}

void operator delete(void* memory, const std::nothrow_t&) noexcept {
    std::free(memory);
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}
