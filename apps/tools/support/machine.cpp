#include "apps/tools/support/machine.hpp"

#include "collectives/applicability.hpp"

namespace attune::tools {

Machine this_machine(const core::Environment& environment) {
    Machine machine;
    machine.topology = core::discover_topology();
    if (environment.launch_cpus) machine.topology.allowed = core::CpuSet::parse(*environment.launch_cpus);
    machine.identity = db::identity_of(machine.topology);
    return machine;
}

db::Rules rules_of(const core::Environment& environment, const core::Topology& topology) {
    db::Rules rules = db::rules_of(environment);
    rules.usable = [topology](const core::TableRow& row) { return collectives::why_never_usable(row, topology); };
    return rules;
}

}  // namespace attune::tools
