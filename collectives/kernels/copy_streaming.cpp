#include "collectives/kernels/fold.hpp"

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace attune::collectives {

#if defined(__x86_64__)
void copy_streaming(void* destination, const void* source, std::size_t bytes) noexcept {
    auto* to = static_cast<std::byte*>(destination);
    const auto* from = static_cast<const std::byte*>(source);
    constexpr std::size_t line = 64;
    const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(to) % line;
    const std::size_t head = misaligned == 0 ? 0 : line - misaligned;
    if (bytes < head + line) {
        if (bytes != 0) std::memcpy(to, from, bytes);
        return;
    }
    if (head != 0) std::memcpy(to, from, head);
    std::size_t at = head;
    // Whole lines only: a partly written combining buffer costs a read of memory.
    for (; at + line <= bytes; at += line) {
        for (std::size_t part = 0; part < line; part += sizeof(__m128i)) {
            const __m128i value = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at + part));
            _mm_stream_si128(reinterpret_cast<__m128i*>(to + at + part), value);
        }
    }
    if (at < bytes) std::memcpy(to + at, from + at, bytes - at);
    _mm_sfence();
}
#else
// Without such stores an ordinary copy is right, if slower.
void copy_streaming(void* destination, const void* source, std::size_t bytes) noexcept {
    if (bytes != 0) std::memcpy(destination, source, bytes);
}
#endif

}  // namespace attune::collectives
