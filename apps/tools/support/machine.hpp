// This machine as the database sees it.
#pragma once

#include "db/fingerprint.hpp"
#include "db/lookup.hpp"
#include "libcore/environment.hpp"
#include "libcore/topology.hpp"

namespace attune::tools {

struct Machine {
    core::Topology topology;  // `allowed` is the launcher's set when a launcher started this process
    db::Identity identity;
};
Machine this_machine(const core::Environment& environment);

// Which rows a job on the machine would use, as far as nothing is known about its team.
db::Usable usable_on(const core::Topology& topology);
// ATTUNE_DB_MODE and ATTUNE_DB_MIN_GRADE with it. Throws Error(usage) for a wrong word.
db::Rules rules_of(const core::Environment& environment, const core::Topology& topology);

}  // namespace attune::tools
