#include "apps/tools/support/machine.hpp"

namespace attune::tools {

Machine this_machine(const core::Environment& environment) {
    Machine machine;
    machine.topology = core::discover_topology();
    if (environment.launch_cpus) machine.topology.allowed = core::CpuSet::parse(*environment.launch_cpus);
    machine.identity = db::identity_of(machine.topology);
    return machine;
}

}  // namespace attune::tools
