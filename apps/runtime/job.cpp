#include "apps/runtime/job.hpp"

#include "collectives/applicability.hpp"
#include "collectives/team_facts.hpp"
#include "db/fingerprint.hpp"
#include "db/lookup.hpp"
#include "libcore/environment.hpp"
#include "libcore/error.hpp"
#include "libcore/file.hpp"
#include "libcore/text.hpp"
#include "libcore/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

// Our launcher's variables come together or not at all.
std::unique_ptr<collectives::Bootstrap> make_bootstrap(const core::Environment& environment) {
    if (environment.rank && environment.ranks && environment.launch_fd)
        return collectives::make_launcher_bootstrap(*environment.rank, *environment.ranks, *environment.launch_fd, patience(environment));
    if (environment.rank || environment.ranks || environment.launch_fd)
        throw Error(ErrorCode::usage, "only some of ATTUNE_RANK, ATTUNE_RANKS and ATTUNE_LAUNCH_FD are set; they are set together by attune-run");
    return std::move(collectives::make_local_bootstraps(1).front());
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

// The files that this process would use, in words; a named one counts even when it is missing.
std::string databases_of(const core::Environment& environment, const Options& options) {
    const std::string mode = first_of(options.mode, environment.db_mode, "use");
    if (mode == "off") return std::string(collectives::no_database) + " (ATTUNE_DB_MODE=off)";
    std::vector<std::string> files;
    for (const db::Layer& layer : db::layers(environment, options.database)) {
        const bool there = core::file_exists(layer.path);
        if (there || layer.named) files.push_back(core::printable(layer.path) + (there ? "" : " (missing)"));
    }
    const std::string text = files.empty() ? std::string(collectives::no_database) : fmt::format("{}", fmt::join(files, ", "));
    return mode == "use" ? text : fmt::format("{} (ATTUNE_DB_MODE={})", text, mode);
}

// Identity counts the launcher's CPUs, not the one this rank is bound to.
core::Topology machine(const std::optional<core::CpuSet>& launch_cpus) {
    core::Topology topology = core::discover_topology();
    if (launch_cpus) topology.allowed = *launch_cpus;
    return topology;
}

collectives::CommunicatorOptions communicator_options(const core::Environment& environment, const Options& options, const Job& job) {
    collectives::CommunicatorOptions result;
    result.transport = environment.transport.value_or("shm");
    result.forced = collectives::ForcedChoices::parse(first_of(options.force, environment.force, ""));
    result.check_calls = parse_switch("ATTUNE_CHECK", environment.check.value_or("0"));
    if (environment.timeout) result.execution.timeout_ns = core::parse_duration_ns(*environment.timeout);
    if (environment.launch_cpus) result.launch_cpus = core::CpuSet::parse(*environment.launch_cpus);
    result.log = job.log;
    result.trace = job.trace.get();
    db::Rules rules = rules_of(environment, options);  // a wrong word is an error on every rank
    result.databases = databases_of(environment, options);
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
    const core::Environment environment = core::read_environment();
    const auto job = std::make_shared<Job>();
    job->log = core::Log(core::parse_log_level(first_of(options.log, environment.log, "warn")));
    job->bootstrap = make_bootstrap(environment);
    if (job->bootstrap->rank() == 0)
        for (const std::string& line : core::unknown_variables())
            job->log.warn(line);
    job->trace = open_trace(environment.trace, job->bootstrap->rank());
    job->team = std::make_unique<collectives::Communicator>(*job->bootstrap, communicator_options(environment, options, *job));
    return job;
}

// The public enumerations are the internal ones under names without third-party includes.
template <class Public, class Internal>
constexpr bool same(Public a, Internal b) {
    return static_cast<int>(a) == static_cast<int>(b);
}
static_assert(same(Collective::all_reduce, collectives::Collective::all_reduce) && same(Collective::all_gather, collectives::Collective::all_gather) &&
              same(Collective::reduce_scatter, collectives::Collective::reduce_scatter) && same(Collective::broadcast, collectives::Collective::broadcast) &&
              same(Collective::barrier, collectives::Collective::barrier));
static_assert(same(DType::float32, core::DType::float32) && same(DType::float64, core::DType::float64) && same(DType::int32, core::DType::int32) &&
              same(DType::int64, core::DType::int64));
static_assert(same(Op::sum, core::Op::sum) && same(Op::prod, core::Op::prod) && same(Op::min, core::Op::min) && same(Op::max, core::Op::max));

namespace {
// A cast can make any value of an enumeration.
void require_known(const char* what, int value, int last) {
    if (value > last) throw Error(ErrorCode::usage, fmt::format("{} {} does not exist; the values are 0 to {} (attune/attune.hpp)", what, value, last));
}
}  // namespace

collectives::Problem problem_of(const Call& call) {
    require_known("the collective", static_cast<int>(call.collective), static_cast<int>(Collective::barrier));
    require_known("the dtype", static_cast<int>(call.dtype), static_cast<int>(DType::int64));
    require_known("the op", static_cast<int>(call.op), static_cast<int>(Op::max));
    collectives::Problem problem;
    problem.collective = static_cast<collectives::Collective>(call.collective);
    problem.count = call.count;
    problem.dtype = static_cast<core::DType>(call.dtype);
    problem.op = static_cast<core::Op>(call.op);
    problem.root = call.root;
    problem.in_place = call.in_place;
    return problem;
}

}  // namespace attune::detail
