#include "libcore/topology.hpp"

#include "libcore/cpuid.hpp"
#include "libcore/error.hpp"

#include <hwloc.h>

#include <algorithm>
#include <memory>
#include <type_traits>

namespace attune::core {

namespace {

struct DestroyTopology {
    void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using TopologyHandle = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, DestroyTopology>;

// The whole machine, also what a container hides: sockets and caches describe the hardware, `allowed` the part that is ours. Devices
// stay out (hwloc 2 leaves them out unless asked), which keeps this to a few milliseconds.
TopologyHandle load_topology() {
    hwloc_topology_t raw = nullptr;
    if (hwloc_topology_init(&raw) != 0) throw Error(ErrorCode::failure, "hwloc cannot start; is its library complete?");
    TopologyHandle topology(raw);
    hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter(raw, HWLOC_OBJ_MISC, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter(raw, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_NONE);
    if (hwloc_topology_load(raw) != 0) throw Error(ErrorCode::failure, "hwloc cannot read this machine's topology; is /sys mounted?");
    return topology;
}

int count(hwloc_topology_t topology, hwloc_obj_type_t type) {
    return std::max(1, hwloc_get_nbobjs_by_type(topology, type));
}

// Of the first cache of this level; 0 when the machine shows none, as some virtual machines do.
std::uint64_t cache_bytes(hwloc_topology_t topology, hwloc_obj_type_t type) {
    const hwloc_obj_t cache = hwloc_get_obj_by_type(topology, type, 0);
    return cache == nullptr || cache->attr == nullptr ? 0 : cache->attr->cache.size;
}

// 1 without an L3: then no cores share one.
int cores_per_l3(hwloc_topology_t topology) {
    const hwloc_obj_t cache = hwloc_get_obj_by_type(topology, HWLOC_OBJ_L3CACHE, 0);
    if (cache == nullptr) return 1;
    return std::max(1, hwloc_get_nbobjs_inside_cpuset_by_type(topology, cache->cpuset, HWLOC_OBJ_CORE));
}

}  // namespace

Topology discover_topology() {
    const TopologyHandle handle = load_topology();
    const CpuIdentity cpu = read_cpu_identity();
    Topology topology;
    topology.cpu_vendor = cpu.vendor;
    topology.cpu_family = cpu.family;
    topology.cpu_model = cpu.model;
    topology.cpu_name = cpu.name;
    topology.instruction_set = supported_instruction_set();
    topology.sockets = count(handle.get(), HWLOC_OBJ_PACKAGE);
    topology.numa_nodes = count(handle.get(), HWLOC_OBJ_NUMANODE);
    topology.cores_per_l3 = cores_per_l3(handle.get());
    topology.l1d_bytes = cache_bytes(handle.get(), HWLOC_OBJ_L1CACHE);
    topology.l2_bytes = cache_bytes(handle.get(), HWLOC_OBJ_L2CACHE);
    topology.l3_bytes = cache_bytes(handle.get(), HWLOC_OBJ_L3CACHE);
    topology.allowed = allowed_cpus();
    return topology;
}

}  // namespace attune::core
