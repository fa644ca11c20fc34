// This machine as the database sees it.
#pragma once

#include "db/fingerprint.hpp"
#include "libcore/environment.hpp"
#include "libcore/topology.hpp"

namespace attune::tools {

struct Machine {
    core::Topology topology;  // `allowed` is the launcher's set when a launcher started this process
    db::Identity identity;
};
Machine this_machine(const core::Environment& environment);

}  // namespace attune::tools
