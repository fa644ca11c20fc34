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

db::Usable usable_on(const core::Topology& topology) {
    return [topology](const core::TableRow& row) { return collectives::why_never_usable(row, topology); };
}

db::Rules rules_of(const core::Environment& environment, const core::Topology& topology) {
    return {db::parse_mode(environment.db_mode.value_or("use")), db::parse_grade(environment.min_grade.value_or("interval")), usable_on(topology)};
}

}  // namespace attune::tools
