#include "tests/tools/bench/planted_release.hpp"

#include "collectives/catalogue.hpp"
#include "collectives/chooser.hpp"
#include "collectives/default_config.hpp"
#include "db/release.hpp"
#include "libcore/clock.hpp"
#include "libcore/topology.hpp"

#include <algorithm>

namespace attune::test {

namespace {

db::ReleaseRow row_of(const PlantedRow& planted, const core::Topology& topology) {
    collectives::ChooserFacts facts;
    facts.node_map = "1x" + std::to_string(planted.problem.ranks);
    facts.binding = static_cast<std::size_t>(planted.problem.ranks) > topology.allowed.cpus.size() ? "unbound" : "bound";
    facts.topology = topology;
    const core::Config standard = collectives::default_config(planted.problem, topology);
    db::ReleaseRow row;
    row.identity = db::identity_of(topology);
    row.row.key = collectives::key_of(planted.problem, facts);
    row.row.low_bytes = planted.problem.bytes();
    row.row.high_bytes = std::max(planted.high_bytes, planted.problem.bytes());
    row.row.config = standard.with(planted.config);
    row.row.default_config = standard;
    row.row.default_version = planted.default_version == 0 ? collectives::default_version : planted.default_version;
    row.row.algorithm_version = collectives::find_algorithm(planted.problem.collective, row.row.config.algorithm())->version;
    row.row.instruction_set = topology.instruction_set;
    row.row.default_ns = 1300;
    row.row.best_ns = 1000;
    row.row.gain = 1.3;
    row.row.gain_low = 1.2;
    row.row.gain_high = 1.4;
    row.evidence.launches = 3;
    row.evidence.blocks = 15;
    row.evidence.floor = 0.02;
    row.evidence.p_value = 1e-4;
    row.evidence.candidates = 4;
    row.evidence.verification = "exact";
    row.evidence.run = "planted";
    row.evidence.utc = core::utc_now();
    return row;
}

}  // namespace

void write_planted_release(const std::string& path, const std::vector<PlantedRow>& rows) {
    const core::Topology topology = core::discover_topology();
    db::ReleaseContent content;
    content.identities = {db::identity_of(topology)};
    for (const PlantedRow& row : rows)
        content.rows.push_back(row_of(row, topology));
    content.utc = core::utc_now();
    content.tool_version = "test";
    db::write_release(path, content);
}

}  // namespace attune::test
