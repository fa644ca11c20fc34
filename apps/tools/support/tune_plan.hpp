// attune-tune's options and what follows from them.
#pragma once

#include "apps/tools/support/options.hpp"
#include "collectives/problem.hpp"
#include "db/fingerprint.hpp"
#include "libcore/topology.hpp"
#include "tuner/collective_target.hpp"
#include "tuner/session.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attune::tools {

struct TuneOptions {
    std::string folder;
    std::vector<std::string> collectives;
    std::string target = "collective";
    std::string strategy = "exhaustive";
    int ranks = 2;
    std::string transport = "shm";
    NodeOptions nodes;
    SizeRange sizes;
    std::string dtype = "float32";
    std::string op = "sum";
    std::string in_place = "no";
    std::int64_t budget_ns = 120'000'000'000;
    bool budget_given = false;
    std::optional<std::string> db, journal;
    bool resume = false, no_publish = false, recheck = false;
    std::vector<std::string> candidate_zero;
    std::uint64_t seed = 1;
    std::int64_t timeout_ns = 60'000'000'000;
    bool json = false, quiet = false;
    ColorMode color = ColorMode::automatic;
};

// Everything that is fixed before the first trial.
struct TunePlan {
    core::Topology topology;
    db::Identity identity;
    std::vector<collectives::Collective> collectives;
    std::vector<std::uint64_t> sizes;
    std::string release_path, journal_path;
    std::string folder;  // before the names of tools in commands to try next, as this one was started: "build/release/bin/", or nothing
    bool named = false;  // the release was named by --db, so other tools must be told too
    tuner::CollectiveTargetOptions target;
    tuner::SessionOptions session;
};
// Throws Error(usage) for contradictions (--candidate-zero without --db, ranks started by a launcher), Error(failure) when there is no
// place for the database. Does not touch the journal.
TunePlan plan_tune(const TuneOptions& options);

// Of the release's rows those that --recheck can test: of this machine, ranks and transport. Throws Error(not_found) when there is none.
std::vector<db::ReleaseRow> rows_to_recheck(const TunePlan& plan);

}  // namespace attune::tools
