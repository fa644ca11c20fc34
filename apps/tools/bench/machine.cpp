#include "apps/tools/bench/machine.hpp"

#include "apps/tools/bench/problems.hpp"
#include "apps/tools/support/machine.hpp"
#include "collectives/applicability.hpp"
#include "collectives/catalogue.hpp"
#include "collectives/transport/tcp_options.hpp"
#include "db/release.hpp"
#include "libcore/environment.hpp"
#include "libcore/error.hpp"
#include "libcore/log.hpp"

#include <exception>
#include <optional>

namespace attune::tools::bench {

namespace {

// The cut set of the first file in use; a file that went away meanwhile has none.
profiler::PlacementCuts cuts_of(const db::Loaded& loaded) {
    for (const db::LayerState& layer : loaded.layers) {
        if (layer.state != "used") continue;
        try {
            const db::ReleaseContent content = db::read_release(layer.layer.path);
            if (!content.cuts.empty()) return {content.cuts.back().upper_ns};
        } catch (const std::exception&) {
            // The loader has already said what is wrong with it.
        }
    }
    return {};
}

// A comparison with a database that cannot be read would compare the defaults with themselves.
void require_databases(const db::Loaded& loaded) {
    for (const db::LayerState& state : loaded.layers) {
        if (state.state == "missing" && state.layer.named)
            throw core::Error(core::ErrorCode::not_found, "there is no database " + state.layer.path + " to compare; name another with --db");
        if (state.state == "damaged") throw core::Error(core::ErrorCode::check_failed, state.layer.path + " cannot be compared: " + state.reason);
    }
}

// The rules of a job of these ranks; a re-test of rows starts the ranks that they want.
db::Rules job_rules(const Options& options, const core::Environment& environment, const core::Topology& topology) {
    db::Rules rules = rules_of(environment, topology);
    if (options.rows) return rules;
    rules.other_team = [&options](const core::TableRow& row) { return collectives::why_other_team(row, options.ranks.values, options.transport); };
    return rules;
}

}  // namespace

Machine discover_machine(const Options& options) {
    const core::Environment environment = core::read_environment();
    const tools::Machine here = this_machine(environment);
    Machine machine;
    machine.topology = here.topology;
    machine.loaded = db::load(db::layers(environment, options.db.value_or("")), here.identity, job_rules(options, environment, here.topology));
    if (machine.loaded.fatal_code != 0) throw core::Error(static_cast<core::ErrorCode>(machine.loaded.fatal_code), machine.loaded.fatal_message);
    if (std::ranges::find(options.compare, "tuned") != options.compare.end()) require_databases(machine.loaded);
    const core::Log log(options.log, "attune-bench");
    for (const std::string& warning : machine.loaded.warnings)
        log.warn(warning);
    machine.cuts = cuts_of(machine.loaded);
    return machine;
}

collectives::ChooserFacts facts_of(const Machine& machine, const Options& options, int ranks) {
    collectives::ChooserFacts facts;
    facts.transport = options.transport;
    facts.node_map = options.nodes.text(ranks);
    facts.binding = options.bind_to == "core" && !machine.oversubscribed(ranks) ? "bound" : "unbound";
    facts.topology = machine.topology;
    facts.streams = collectives::stream_facts_here(options.transport);
    return facts;
}

collectives::ForcedChoices forced_choices(const Options& options) {
    if (!forced(options)) {
        return options.compare.empty() ? collectives::ForcedChoices::of(core::read_environment()) : collectives::ForcedChoices{};
    }
    const core::Config& settings = options.settings;
    const std::string wanted = options.algorithm.empty() ? settings.algorithm() : options.algorithm;
    collectives::ForcedChoices choices;
    std::optional<core::Error> refused;
    for (const collectives::Collective collective : collectives_of(options)) {
        try {
            core::Config config = settings;
            if (!wanted.empty()) config.set("algorithm", collectives::parse_algorithm(collective, wanted));
            choices.entries.emplace_back(collective, config);
        } catch (const core::Error& error) {
            // Said again, as the reason, in each row of this collective.
            refused = error;
            core::Config unknown = settings;
            unknown.set("algorithm", wanted);
            choices.entries.emplace_back(collective, unknown);
        }
        if (refused && collectives_of(options).size() == 1) throw *refused;
    }
    return choices;
}

collectives::Chooser chooser_of(const Machine& machine, const Options& options, int ranks) {
    return {facts_of(machine, options, ranks), machine.loaded.table, forced_choices(options)};
}

}  // namespace attune::tools::bench
