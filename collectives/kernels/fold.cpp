#include "collectives/kernels/fold.hpp"

#include "collectives/kernels/fold_table.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <emmintrin.h>

namespace attune::collectives {

namespace {

struct InstructionSet {
    std::string_view name;
    const FoldTable& (*kernels)() noexcept;
    bool (*supported)() noexcept;
};

bool has_avx512() noexcept {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}

// Best first.
constexpr std::array instruction_sets = {
    InstructionSet{"avx512", fold_table_avx512, has_avx512},
    InstructionSet{"avx2", fold_table_avx2, [](void) noexcept -> bool { return __builtin_cpu_supports("avx2"); }},
    InstructionSet{"generic", fold_table_generic, [](void) noexcept -> bool { return true; }},
};

const InstructionSet& best() noexcept {
    for (const InstructionSet& set : instruction_sets) {
        if (set.supported()) return set;
    }
    return instruction_sets.back();
}

FoldKernel kernel_in(const FoldTable& kernels, core::DType dtype, core::Op op) noexcept {
    return kernels[static_cast<std::size_t>(dtype)][static_cast<std::size_t>(op)];
}

}  // namespace

FoldKernel fold_kernel(core::DType dtype, core::Op op) noexcept {
    static const FoldTable& kernels = best().kernels();
    return kernel_in(kernels, dtype, op);
}

FoldKernel fold_kernel_for(std::string_view instruction_set, core::DType dtype, core::Op op) noexcept {
    for (const InstructionSet& set : instruction_sets) {
        if (set.name == instruction_set && set.supported()) return kernel_in(set.kernels(), dtype, op);
    }
    return nullptr;
}

std::string_view kernel_instruction_set() noexcept {
    return best().name;
}

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

}  // namespace attune::collectives
