// What the benchmark stands on: this machine, the tuned table it would use, and the choice for each problem.
#pragma once

#include "apps/tools/bench/options.hpp"
#include "collectives/chooser.hpp"
#include "db/lookup.hpp"
#include "profiler/placement.hpp"

#include <string>
#include <vector>

namespace attune::tools::bench {

struct Machine {
    core::Topology topology;  // `allowed` is the launcher's set
    db::Loaded loaded;
    profiler::PlacementCuts cuts;  // of the release in use; empty = one class

    bool oversubscribed(int ranks) const { return static_cast<std::size_t>(ranks) > topology.allowed.cpus.size(); }
};

// Reads the databases as a job would: --db, ATTUNE_DB, default paths, ATTUNE_DB_MODE. Warnings go to stderr. Throws core::Error with
// code 3 or 4 in mode `require`.
Machine discover_machine(const Options& options);

collectives::ChooserFacts facts_of(const Machine& machine, const Options& options, int ranks);
// Chooses as a job would, with --algorithm and --set (or else ATTUNE_FORCE) forced.
collectives::Chooser chooser_of(const Machine& machine, const Options& options, int ranks);
// What --algorithm and --set force for the collectives asked for. Throws core::Error(usage) when nothing of it applies to any of them.
collectives::ForcedChoices forced_choices(const Options& options);

}  // namespace attune::tools::bench
