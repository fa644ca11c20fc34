// From re-test trials to proven rows. Pure on trials, so attune-tune and attune-db publish decide alike.
#pragma once

#include "collectives/problem.hpp"
#include "db/journal.hpp"
#include "db/release.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace attune::tuner {

struct PublishOptions {
    double minimum_gain = 0.02;  // a gain must exceed 1 + max(floor, this)
    double false_discovery_rate = 0.01;
    std::size_t minimum_blocks = 15;  // kept, pooled over launches
    std::size_t minimum_launches = 3;
    std::size_t class_blocks = 5;       // a placement class with as many blocks is judged by itself
    std::string run;                    // only this run; empty: of each config and problem the latest run that re-tested it
    std::uint32_t default_version = 0;  // current; trials against another are not mixed in. 0 = any
    // Whether the search of this problem in that run tried every candidate; absent = no.
    std::function<bool(const std::string& run, const std::string& key, std::uint64_t bytes)> complete;
    // Version of the config's algorithm today, 0 when there is none; absent = not compared.
    std::function<std::uint32_t(const core::Key&, const core::Config&)> algorithm_version;
    // Today's default of a problem, nothing when this build knows no such problem; absent = not compared.
    std::function<std::optional<core::Config>(const core::Key&, std::uint64_t bytes)> default_config;
};

// One hypothesis "this config beats that default here", with its evidence. `reason` is empty when it is proven.
struct TestedPoint {
    core::Key key;
    std::uint64_t bytes = 0;
    core::Config config, default_config;
    std::uint32_t default_version = 0, algorithm_version = 0;
    std::string run, utc;
    double floor = 0, p_value = 1;
    std::uint64_t blocks = 0, launches = 0, candidates = 0;
    double default_ns = 0, best_ns = 0;  // medians of block medians
    double gain = 1, low = 1, high = 1;  // median block ratio, 99 % interval
    std::vector<db::ClassGain> classes;
    bool complete = false;
    bool unfinished = false;  // too few blocks or launches and no failure: neither proven nor refuted
    std::string reason;
};

struct Selection {
    std::vector<db::ReleaseRow> rows;   // exact sizes and intervals, ordered by key and size
    std::vector<TestedPoint> proven;    // the points the rows stand on
    std::vector<TestedPoint> rejected;  // with reasons
};

// One-sided sign test of per-block gains against 1 + max(floor, minimum_gain), Benjamini-Hochberg over all points tried; then enough blocks and
// launches, no failure in a re-test, no class slower than the default beyond the floor. A rooted choice proven at the first and the last rank is published
// for any root, else for the root it was proven at. Only phases "confirm" and "recheck" are
// evidence; their floor is the "floor" trials of the same launches. Trials in the order they were recorded.
Selection select_rows(const std::vector<db::Trial>& trials, const db::Identity& identity, const PublishOptions& options);

// Everything a release of this journal holds for this identity: select_rows over all its trials, cuts and context.
db::ReleaseContent release_content(const db::Journal& journal, const db::Identity& identity, const Selection& selection);
// Adds the rows of an earlier release of the same identity that this journal neither re-tested nor overlaps: publishing never loses a proof.
void keep_untested_rows(db::ReleaseContent& content, const db::ReleaseContent& existing, const Selection& selection);
// The options that go with a journal: versions of this build, completeness as the sessions noted it, and what counts as the default.
PublishOptions publish_options(const db::Journal& journal, std::function<core::Config(const collectives::Problem&)> default_of);
// Name of the journal value that notes a completed search.
std::string complete_name(const std::string& run, const std::string& key, std::uint64_t bytes);

}  // namespace attune::tuner
