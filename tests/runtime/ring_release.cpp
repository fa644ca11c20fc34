#include "tests/runtime/ring_release.hpp"

#include "collectives/catalogue.hpp"
#include "collectives/chooser.hpp"
#include "collectives/default_config.hpp"
#include "db/release.hpp"
#include "libcore/topology.hpp"

namespace attune::test {

namespace {

int cpus() {
    return static_cast<int>(core::allowed_cpus().cpus.size());
}

}  // namespace

void publish_ring(const std::string& path, const db::Identity& identity) {
    collectives::ChooserFacts facts;
    facts.topology = core::discover_topology();
    facts.node_map = "1x2";
    facts.binding = cpus() >= 2 ? "bound" : "unbound";
    collectives::Problem problem;
    problem.ranks = 2;
    problem.count = 2;
    db::ReleaseRow row;
    row.identity = identity;
    row.row.key = key_of(problem, facts);
    row.row.low_bytes = 8;
    row.row.high_bytes = 64;
    row.row.default_config = default_config(problem, facts.topology);
    row.row.config = row.row.default_config;
    row.row.config.set("algorithm", std::string_view("ring"));
    row.row.default_version = collectives::default_version;
    row.row.algorithm_version = collectives::find_algorithm(collectives::Collective::all_reduce, "ring")->version;
    row.row.instruction_set = "generic";
    row.row.gain = 1.25;
    row.row.gain_low = 1.2;
    row.row.gain_high = 1.3;
    row.row.default_ns = 1250;
    row.row.best_ns = 1000;
    row.evidence.verification = "exact";
    db::ReleaseContent content;
    content.identities = {identity};
    content.rows = {row};
    content.utc = "2026-11-30T00:00:00Z";
    content.tool_version = "test";
    db::write_release(path, content);
}

db::Identity this_machine() {
    return db::identity_of(core::discover_topology());
}

}  // namespace attune::test
