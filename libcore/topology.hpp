// Facts about this machine that a result depends on (identity) or that are only recorded (context); CPU sets and binding.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attune::core {

// Logical CPUs this process may run on, in hwloc's logical order.
struct CpuSet {
    std::vector<int> cpus;
    std::string text() const;  // "0-3,8", sorted
    static CpuSet parse(std::string_view text);
    friend bool operator==(const CpuSet&, const CpuSet&) = default;
};
CpuSet allowed_cpus();                      // of this process now
void bind_this_process(const CpuSet& set);  // throws Error(failure) naming the set
void bind_this_thread(int cpu);

// Everything hwloc and cpuid tell. Read once per process by the caller; no global.
struct Topology {
    std::string cpu_vendor;
    int cpu_family = 0;
    int cpu_model = 0;
    std::string cpu_name;
    std::string instruction_set;  // "avx512", "avx2", "generic": what our kernels will use here
    int sockets = 1;
    int numa_nodes = 1;
    int cores_per_l3 = 1;
    std::uint64_t l1d_bytes = 0;
    std::uint64_t l2_bytes = 0;
    std::uint64_t l3_bytes = 0;
    CpuSet allowed;
};
Topology discover_topology();

// Name/value pairs never compared: kernel, microcode, governor, compiler, container, host.
std::vector<std::pair<std::string, std::string>> discover_context();

}  // namespace attune::core
