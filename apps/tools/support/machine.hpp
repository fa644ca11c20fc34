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

// ATTUNE_DB_MODE, ATTUNE_DB_MIN_GRADE, and which rows a job on the machine could use, as far as nothing is known about its team. Throws Error(usage) for a
// wrong word.
db::Rules rules_of(const core::Environment& environment, const core::Topology& topology);

}  // namespace attune::tools
