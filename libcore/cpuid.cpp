#include "libcore/cpuid.hpp"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace attune::core {

#if defined(__x86_64__)

namespace {

struct Registers {
    unsigned int eax = 0, ebx = 0, ecx = 0, edx = 0;
};

// Zeros when the CPU does not know the leaf.
Registers cpuid(unsigned int leaf) {
    Registers r;
    if (__get_cpuid(leaf, &r.eax, &r.ebx, &r.ecx, &r.edx) == 0) return {};
    return r;
}

std::string text_of(std::initializer_list<unsigned int> registers) {
    std::string out;
    for (const unsigned int value : registers) {
        std::array<char, sizeof value> bytes{};
        std::memcpy(bytes.data(), &value, sizeof value);
        for (const char c : bytes) {
            if (c == '\0') return out;
            out += c;
        }
    }
    return out;
}

std::string trimmed(const std::string& text) {
    const std::size_t first = text.find_first_not_of(' ');
    if (first == std::string::npos) return {};
    return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::string brand_string() {
    std::string out;
    for (unsigned int leaf = 0x80000002; leaf <= 0x80000004; ++leaf) {
        const Registers r = cpuid(leaf);
        out += text_of({r.eax, r.ebx, r.ecx, r.edx});
    }
    return trimmed(out);
}

}  // namespace

// Intel SDM volume 2A, CPUID leaf 1: the extended family counts only for family 15, the extended model for 6 and 15.
CpuIdentity read_cpu_identity() {
    CpuIdentity identity;
    const Registers vendor = cpuid(0);
    identity.vendor = text_of({vendor.ebx, vendor.edx, vendor.ecx});
    const Registers version = cpuid(1);
    const int family = static_cast<int>(version.eax >> 8 & 0xf);
    const int model = static_cast<int>(version.eax >> 4 & 0xf);
    identity.family = family == 15 ? family + static_cast<int>(version.eax >> 20 & 0xff) : family;
    identity.model = family == 6 || family == 15 ? model + (static_cast<int>(version.eax >> 16 & 0xf) << 4) : model;
    identity.name = brand_string();
    identity.hypervisor = (version.ecx >> 31 & 1) != 0;
    return identity;
}

std::string_view supported_instruction_set() noexcept {
    __builtin_cpu_init();
    const bool avx512 =
        __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (avx512) return "avx512";
    return __builtin_cpu_supports("avx2") ? "avx2" : "generic";
}

#else

CpuIdentity read_cpu_identity() {
    return {};
}

std::string_view supported_instruction_set() noexcept {
    return "generic";
}

#endif

}  // namespace attune::core
