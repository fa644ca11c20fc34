#include "apps/runtime/job.hpp"

#include "apps/runtime/process.hpp"
#include "collectives/applicability.hpp"
#include "collectives/bootstrap_job.hpp"
#include "collectives/team_facts.hpp"
#include "db/fingerprint.hpp"
#include "db/lookup.hpp"
#include "libcore/environment.hpp"
#include "libcore/error.hpp"
#include "libcore/file.hpp"
#include "libcore/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <optional>
#include <utility>

namespace attune::detail {

namespace {

// The time set for a late rank also bounds the meeting of the ranks.
std::chrono::milliseconds patience(const core::Environment& environment) {
    const std::int64_t milliseconds = core::timeout_ns_of(environment).value_or(0) / 1'000'000;
    return milliseconds == 0 ? collectives::bootstrap_patience : std::chrono::milliseconds(milliseconds);
}

// What the launcher was asked for, else what the ranks find out together.
collectives::NodeMap nodes_of(const core::Environment& environment, collectives::Bootstrap& bootstrap) {
    return environment.launch_nodes ? collectives::NodeMap::parse(*environment.launch_nodes) : collectives::agree_on_nodes(bootstrap);
}

// Rows that no call of this job can use hide nothing and do not satisfy the mode `require`; those for other numbers of ranks may serve sub-communicators.
void judge_rows(db::Rules& rules, const core::Topology& topology, const std::string& transport, int ranks) {
    rules.usable = [topology](const core::TableRow& row) { return collectives::why_never_usable(row, topology); };
    rules.other_team = [transport, ranks](const core::TableRow& row) { return collectives::why_other_team(row, {&ranks, 1}, transport); };
}

// The one place where the database meets the collectives: rank 0 reads the layers for this machine's identity.
collectives::TableSource table_source(std::vector<db::Layer> layers, const core::Topology& topology, const db::Rules& rules, const core::Log& log) {
    if (rules.mode == db::Mode::off) return {};
    return [layers = std::move(layers), identity = db::identity_of(topology), rules, log] {
        db::Loaded loaded = db::load(layers, identity, rules);
        for (const std::string& line : db::skip_notices(loaded))
            log.info(line);
        return collectives::TableResult{std::move(loaded.table), std::move(loaded.origin), std::move(loaded.warnings), loaded.fatal_code,
                                        std::move(loaded.fatal_message)};
    };
}

// The files that this process would use, in words; a named one counts even when it is missing.
std::string databases_of(const std::vector<db::Layer>& layers, db::Mode mode) {
    if (mode == db::Mode::off) return std::string(collectives::no_database) + " (ATTUNE_DB_MODE=off)";
    std::vector<std::string> files;
    for (const db::Layer& layer : layers) {
        const bool there = core::file_exists(layer.path);
        if (there || layer.named) files.push_back(core::printable(layer.path) + (there ? "" : " (missing)"));
    }
    const std::string text = files.empty() ? std::string(collectives::no_database) : fmt::format("{}", fmt::join(files, ", "));
    return mode == db::Mode::use ? text : fmt::format("{} (ATTUNE_DB_MODE={})", text, name_of(mode));
}

// Identity counts the launcher's CPUs, not the one this rank is bound to.
core::Topology machine(const std::optional<core::CpuSet>& launch_cpus) {
    core::Topology topology = core::discover_topology();
    if (launch_cpus) topology.allowed = *launch_cpus;
    return topology;
}

collectives::CommunicatorOptions communicator_options(const Common& common) {
    const core::Environment& environment = common.environment;
    const Options& options = common.options;
    collectives::CommunicatorOptions result;
    const collectives::NodeMap nodes = nodes_of(environment, *common.bootstrap);
    result.node_map = nodes.text();
    result.transport = environment.transport.value_or(std::string(collectives::usual_transport(nodes)));
    result.lanes.network.interface = environment.interface.value_or("");
    result.forced = options.force.empty() ? collectives::ForcedChoices::of(environment) : collectives::ForcedChoices::parse(options.force);
    result.check_calls = core::checks_calls(environment);
    if (const auto timeout_ns = core::timeout_ns_of(environment)) result.execution.timeout_ns = *timeout_ns;
    if (environment.launch_cpus) result.launch_cpus = core::CpuSet::parse(*environment.launch_cpus);
    result.execution.family = process_family();
    result.log = common.log;
    result.notice = [log = common.log](const std::string& line) { warn_once(log, line); };
    result.trace = common.trace.get();
    db::Rules rules = db::rules_of(environment, options.mode);  // a wrong word is an error on every rank
    const std::vector<db::Layer> layers = db::layers(environment, options.database);
    result.databases = databases_of(layers, rules.mode);
    if (!common.talks) return result;
    result.topology = machine(result.launch_cpus);
    judge_rows(rules, *result.topology, result.transport, common.ranks);
    result.table_source = table_source(layers, *result.topology, rules, common.log);
    return result;
}

}  // namespace

void Common::add(const collectives::CallStatistics& statistics) {
    const std::scoped_lock lock(mutex_);
    ended_.push_back(statistics);
}

Common::~Common() {
    if (!talks || ended_.empty() || log.level() < core::LogLevel::info) return;
    try {
        log.info(summarize(sum_of(ended_)));
    } catch (const std::exception&) {
        // The job's own end matters more than its summary.
    }
}

Job::~Job() {
    if (!team || !common) return;
    try {
        common->add(team->statistics());
    } catch (const std::exception&) {
        // As above.
    }
}

std::shared_ptr<Job> open_job(const Options& options) {
    const collectives::JobStart start = collectives::read_job_start();
    const auto common = std::make_shared<Common>();
    common->environment = start.environment;
    common->options = options;
    const core::Environment& environment = common->environment;
    common->log = core::Log(options.log.empty() ? core::log_level_of(environment, core::LogLevel::warn) : core::parse_log_level(options.log));
    common->bootstrap = collectives::make_job_bootstrap(start, patience(environment), [log = common->log](const std::string& line) { log.warn(line); });
    common->ranks = common->bootstrap->size();
    common->talks = common->bootstrap->rank() == 0;
    if (common->talks)
        for (const std::string& line : core::unknown_variables())
            warn_once(common->log, line);
    common->trace = open_trace(environment.trace, common->bootstrap->rank());
    const auto job = std::make_shared<Job>();
    job->common = common;
    job->team = std::make_unique<collectives::Communicator>(*common->bootstrap, communicator_options(*common));
    return job;
}

std::shared_ptr<Job> child_job(const Job& parent, std::unique_ptr<collectives::Communicator> team) {
    const auto job = std::make_shared<Job>();
    job->common = parent.common;
    job->team = std::move(team);
    return job;
}

// As strict as the mode `require`: who names a file wants it.
collectives::TableSource release_source(const Job& job, const std::string& path) {
    if (job.team->rank() != 0) return {};
    const Common& common = *job.common;
    db::Rules rules = db::rules_of(common.environment, common.options.mode);
    rules.mode = db::Mode::require;
    const core::Topology& topology = job.team->chooser().facts().topology;
    judge_rows(rules, topology, job.team->chooser().facts().transport, job.team->size());
    return table_source({{"explicit", path, true}}, topology, rules, common.log);
}

}  // namespace attune::detail
