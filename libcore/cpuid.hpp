// What the CPU says about itself.
#pragma once

#include <string>
#include <string_view>

namespace attune::core {

struct CpuIdentity {
    std::string vendor;  // "GenuineIntel"; empty where there is no cpuid
    int family = 0;      // with the extended family and model added, as lscpu prints them
    int model = 0;
    std::string name;         // brand string
    bool hypervisor = false;  // running in a virtual machine that says so
};
CpuIdentity read_cpu_identity();

// The widest of "avx512" (needs F, BW, DQ and VL), "avx2" and "generic" that CPU and operating system support.
std::string_view supported_instruction_set() noexcept;

}  // namespace attune::core
