// What a job would use for one problem, and everything that led there.
#pragma once

#include "apps/tools/support/json.hpp"
#include "apps/tools/support/machine.hpp"
#include "collectives/chooser.hpp"
#include "db/lookup.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attune::tools {

struct LookupQuery {
    collectives::Problem problem;
    std::uint64_t asked_bytes = 0;  // as asked; the problem's own bytes() are rounded down to whole elements
    std::string transport = "shm";
    std::string binding;  // empty: bound when there are as many allowed CPUs as ranks
};

struct LookupSources {
    std::vector<db::Layer> layers;
    db::Rules rules;
    std::string forced;  // ATTUNE_FORCE
};

// A row of the problem's key that does not cover its size: shown, never used.
struct NearRow {
    std::size_t row = 0;  // of loaded.rows
    double distance = 0;  // |log2| of the ratio of bytes to the nearer end of its interval
};

struct LookupAnswer {
    LookupQuery query;
    db::Identity identity;  // this machine's
    db::Mode mode = db::Mode::use;
    std::string key;
    db::Loaded loaded;
    collectives::Choice choice;
    std::string match;               // "exact", "interval", "nearest" (shown, not used), "none"
    std::optional<double> distance;  // absent with match "none"
    std::vector<NearRow> near;       // nearest first
    std::string usual_binding;       // "bound" or "unbound": how attune-tune starts so many ranks here
    std::string tune_command;        // empty when the collective, or with this binding, cannot be tuned

    // 0; in mode require 4 for a damaged file, 3 when no applicable row exists for this problem. `message` then says why.
    int exit_code() const;
    std::string message() const;
    std::string tune_advice() const;  // the command, or why there is none
};
// Throws Error(usage) for forced values that are impossible.
LookupAnswer look_up(const LookupQuery& query, const Machine& machine, const LookupSources& sources);

Json lookup_json(const LookupAnswer& answer, const core::Topology& topology);  // attune.lookup/1
std::string lookup_text(const LookupAnswer& answer);
std::string explain_text(const LookupAnswer& answer);  // printed after lookup_text()

// Shared with attune-db show: one row's evidence, per placement class included.
Json evidence_json(const db::ReleaseRow& row);

}  // namespace attune::tools
