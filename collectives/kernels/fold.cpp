#include "collectives/kernels/fold.hpp"

#include "collectives/kernels/fold_table.hpp"

#include <array>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace attune::collectives {

namespace {

struct InstructionSet {
    std::string_view name;
    const FoldTable& (*integers)() noexcept;
    const FoldTable& (*floats)() noexcept;
    bool (*supported)() noexcept;

    const FoldRow& row(core::DType dtype) const noexcept { return (core::is_floating(dtype) ? floats() : integers())[static_cast<std::size_t>(dtype)]; }
};

bool always() noexcept {
    return true;
}

#if defined(__x86_64__)
bool has_avx512() noexcept {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}

// F16C has no name in older compilers. Its registers are those of AVX, whose support by the operating system "avx2" tells.
bool has_avx2() noexcept {
    unsigned int a = 0, b = 0, c = 0, d = 0;
    return __builtin_cpu_supports("avx2") && __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

// Best first.
constexpr std::array instruction_sets = {
#if defined(__x86_64__)
    InstructionSet{"avx512", integer_folds_avx512, float_folds_avx512, has_avx512},
    InstructionSet{"avx2", integer_folds_avx2, float_folds_avx2, has_avx2},
#endif
    InstructionSet{"generic", integer_folds_generic, float_folds_generic, always},
};

const InstructionSet& find_best() noexcept {
    for (const InstructionSet& set : instruction_sets) {
        if (set.supported()) return set;
    }
    return instruction_sets.back();
}

const InstructionSet& best() noexcept {
    static const InstructionSet& set = find_best();
    return set;
}

const InstructionSet* find(std::string_view name) noexcept {
    for (const InstructionSet& set : instruction_sets) {
        if (set.name == name && set.supported()) return &set;
    }
    return nullptr;
}

}  // namespace

FoldKernel fold_kernel(core::DType dtype, core::Op op) noexcept {
    return best().row(dtype).folds[static_cast<std::size_t>(op)];
}

AverageKernel average_kernel(core::DType dtype) noexcept {
    return best().row(dtype).average;
}

FoldKernel fold_kernel_for(std::string_view instruction_set, core::DType dtype, core::Op op) noexcept {
    const InstructionSet* const set = find(instruction_set);
    return set == nullptr ? nullptr : set->row(dtype).folds[static_cast<std::size_t>(op)];
}

AverageKernel average_kernel_for(std::string_view instruction_set, core::DType dtype) noexcept {
    const InstructionSet* const set = find(instruction_set);
    return set == nullptr ? nullptr : set->row(dtype).average;
}

std::string_view kernel_instruction_set() noexcept {
    return best().name;
}

}  // namespace attune::collectives
