#include "apps/runtime/job.hpp"

#include "collectives/applicability.hpp"
#include "collectives/bootstrap_job.hpp"
#include "collectives/team_facts.hpp"
#include "db/fingerprint.hpp"
#include "db/lookup.hpp"
#include "libcore/environment.hpp"
#include "libcore/error.hpp"
#include "libcore/units.hpp"

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <mutex>
#include <optional>

#include <unistd.h>

namespace attune::detail {

namespace {

using core::Error;
using core::ErrorCode;

std::string first_of(const std::string& option, const std::optional<std::string>& variable, const char* otherwise) {
    return option.empty() ? variable.value_or(otherwise) : option;
}

bool parse_switch(const char* name, const std::string& text) {
    if (text == "0" || text == "1") return text == "1";
    throw Error(ErrorCode::usage, fmt::format("{}='{}' is neither 0 nor 1", name, text));
}

// The time set for a late rank also bounds the meeting of the ranks.
std::chrono::milliseconds patience(const core::Environment& environment) {
    if (!environment.timeout) return collectives::bootstrap_patience;
    const std::int64_t milliseconds = core::parse_duration_ns(*environment.timeout) / 1'000'000;
    return milliseconds == 0 ? collectives::bootstrap_patience : std::chrono::milliseconds(milliseconds);
}

// What the launcher was asked for, else what the ranks find out together.
collectives::NodeMap nodes_of(const core::Environment& environment, collectives::Bootstrap& bootstrap) {
    return environment.launch_nodes ? collectives::NodeMap::parse(*environment.launch_nodes) : collectives::agree_on_nodes(bootstrap);
}

db::Rules rules_of(const core::Environment& environment, const Options& options) {
    return {db::parse_mode(first_of(options.mode, environment.db_mode, "use")), db::parse_grade(environment.min_grade.value_or("interval")), {}};
}

// Rows that no call of this communicator can use hide nothing and do not satisfy the mode `require`.
db::Usable usable_by(const core::Topology& topology, const std::string& transport, int ranks) {
    return [topology, transport, ranks](const core::TableRow& row) -> std::optional<std::string> {
        if (row.key.ranks != ranks) return fmt::format("proven for {} ranks, this job has {}", row.key.ranks, ranks);
        if (row.key.transport != transport) return fmt::format("proven for the transport {}, this job uses {}", row.key.transport, transport);
        return collectives::why_never_usable(row, topology);
    };
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

// Identity counts the launcher's CPUs, not the one this rank is bound to.
core::Topology machine(const std::optional<core::CpuSet>& launch_cpus) {
    core::Topology topology = core::discover_topology();
    if (launch_cpus) topology.allowed = *launch_cpus;
    return topology;
}

collectives::CommunicatorOptions communicator_options(const core::Environment& environment, const Options& options, const Job& job) {
    collectives::CommunicatorOptions result;
    const collectives::NodeMap nodes = nodes_of(environment, *job.bootstrap);
    result.node_map = nodes.text();
    result.transport = environment.transport.value_or(std::string(collectives::usual_transport(nodes)));
    result.lanes.network.interface = environment.interface.value_or("");
    result.forced = collectives::ForcedChoices::parse(first_of(options.force, environment.force, ""));
    result.check_calls = parse_switch("ATTUNE_CHECK", environment.check.value_or("0"));
    if (environment.timeout) result.execution.timeout_ns = core::parse_duration_ns(*environment.timeout);
    if (environment.launch_cpus) result.launch_cpus = core::CpuSet::parse(*environment.launch_cpus);
    result.log = job.log;
    result.trace = job.trace.get();
    db::Rules rules = rules_of(environment, options);  // a wrong word is an error on every rank
    result.table_settings = first_of(options.database, environment.db, "") + '\n' + first_of(options.mode, environment.db_mode, "use");
    if (job.bootstrap->rank() != 0) return result;
    result.topology = machine(result.launch_cpus);
    rules.usable = usable_by(*result.topology, result.transport, job.bootstrap->size());
    result.table_source = table_source(db::layers(environment, options.database), *result.topology, rules, job.log);
    return result;
}

// One file per rank: "trace.json" becomes "trace.json.0". All communicators of the process that live together write to it; one made after the last of
// them ended gets "trace.json.0.1". The variable names one file for the whole process, so this is the one object all of its communicators know.
std::shared_ptr<core::TraceSink> open_trace(const std::optional<std::string>& path, int rank) {
    struct Opened {
        std::weak_ptr<core::TraceSink> sink;
        int times = 0;
    };
    static std::mutex mutex;
    static std::map<std::string, Opened> files;
    if (!path) return nullptr;
    const std::string name = fmt::format("{}.{}", *path, rank);
    const std::scoped_lock lock(mutex);
    Opened& file = files[name];
    if (std::shared_ptr<core::TraceSink> sink = file.sink.lock()) return sink;
    const std::string suffix = file.times == 0 ? "" : fmt::format(".{}", file.times);
    std::shared_ptr<core::TraceSink> sink = core::open_trace_file(name + suffix, static_cast<int>(::getpid()));
    file.sink = sink;
    ++file.times;
    return sink;
}

}  // namespace

Job::~Job() {
    if (!team || team->rank() != 0 || log.level() < core::LogLevel::info) return;
    try {
        log.info(summarize(team->statistics(), team->size()));
    } catch (const std::exception&) {
        // The job's own end matters more than its summary.
    }
}

std::shared_ptr<Job> open_job(const Options& options) {
    const collectives::JobStart start = collectives::read_job_start();
    const core::Environment& environment = start.environment;
    const auto job = std::make_shared<Job>();
    job->log = core::Log(core::parse_log_level(first_of(options.log, environment.log, "warn")));
    job->bootstrap = collectives::make_job_bootstrap(start, patience(environment), [log = job->log](const std::string& line) { log.warn(line); });
    if (job->bootstrap->rank() == 0)
        for (const std::string& line : core::unknown_variables())
            job->log.warn(line);
    job->trace = open_trace(environment.trace, job->bootstrap->rank());
    job->team = std::make_unique<collectives::Communicator>(*job->bootstrap, communicator_options(environment, options, *job));
    return job;
}

}  // namespace attune::detail
