#include "apps/tools/support/tune_plan.hpp"

#include "apps/tools/support/release_target.hpp"
#include "apps/tools/support/run_tool.hpp"
#include "collectives/transport/process_memory.hpp"
#include "db/release.hpp"
#include "libcore/environment.hpp"
#include "libcore/error.hpp"
#include "libcore/file.hpp"
#include "libcore/text.hpp"
#include "libcore/units.hpp"
#include "tuner/ladder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <thread>

namespace attune::tools {
namespace {

using core::Error;
using core::ErrorCode;

const std::vector<std::string> default_collectives{"all_reduce", "all_gather", "reduce_scatter", "broadcast"};

void check(const TuneOptions& options) {
    if (core::read_environment().rank)
        throw Error(ErrorCode::usage, "attune-tune starts its own ranks: run it outside attune-run (ATTUNE_RANK is set), with -n N");
    if (!options.candidate_zero.empty() && !options.db)
        throw Error(ErrorCode::usage,
                    "--candidate-zero replaces the default for a test, so its rows never go to the default database; name a file with --db FILE");
    if (options.recheck && options.resume) throw Error(ErrorCode::usage, "--recheck starts a run of its own; use it without --resume");
    if (options.recheck && options.no_publish) throw Error(ErrorCode::usage, "--recheck republishes what still holds; use it without --no-publish");
    if (options.budget_ns <= 0) throw Error(ErrorCode::usage, "--budget must be above 0");
    if (options.timeout_ns <= 0) throw Error(ErrorCode::usage, "--timeout must be above 0");
}

// Whatever changes the questions a run asks. What is not here may differ when it is resumed.
std::string description_of(const TuneOptions& options, const TunePlan& plan) {
    std::vector<std::string> sizes;
    for (const auto bytes : plan.sizes)
        sizes.push_back(core::compact_bytes(bytes));
    std::vector<std::string_view> collectives;
    for (const auto collective : plan.collectives)
        collectives.push_back(collectives::name_of(collective));
    std::string text =
        fmt::format("{} -n {} --transport {} -d {} -o {} --in-place {} --strategy {} --seed {} sizes {}", fmt::join(collectives, " "), options.ranks,
                    options.transport, options.dtype, options.op, options.in_place, options.strategy, options.seed, fmt::join(sizes, ","));
    for (const auto& zero : options.candidate_zero)
        text += " --candidate-zero " + zero;
    if (options.nodes.given()) text += " --node-map " + options.nodes.text(options.ranks);
    if (options.recheck) text += " --recheck";
    return text;
}

void fill_session(const TuneOptions& options, TunePlan& plan) {
    auto& session = plan.session;
    session.team = {
        .ranks = options.ranks, .transport = options.transport, .node_map = options.nodes.text(options.ranks), .bind = true, .timeout_ns = options.timeout_ns};
    tuner::LadderOptions ladder{.collectives = plan.collectives, .sizes = plan.sizes, .ranks = options.ranks, .node_map = session.team.node_map};
    ladder.dtype = core::parse_dtype(options.dtype);
    ladder.op = core::parse_op(options.op);
    if (const auto why = core::unsupported(ladder.dtype, ladder.op); why && std::ranges::any_of(plan.collectives, collectives::reduces))
        throw Error(ErrorCode::usage, *why);
    ladder.in_place = options.in_place == "yes";
    session.problems = tuner::ladder(ladder);
    session.strategy = options.strategy;
    session.budget_ns = options.budget_ns;
    session.budget_given = options.budget_given;
    session.seed = options.seed;
    session.resume = options.resume;
    session.publish = !options.no_publish;
    session.description = description_of(options, plan);
    session.release_path = plan.release_path;
    session.context = core::discover_context();
    session.tool_version = version();
    session.pause = [](std::int64_t ns) { std::this_thread::sleep_for(std::chrono::nanoseconds(ns)); };
}

collectives::Collective tunable(const std::string& name) {
    const collectives::Collective collective = collectives::parse_collective(name);
    if (const auto why = tuner::why_untunable(collective)) throw Error(ErrorCode::usage, *why);
    return collective;
}

}  // namespace

TunePlan plan_tune(const TuneOptions& options) {
    check(options);
    TunePlan plan;
    plan.folder = options.folder;
    plan.topology = core::discover_topology();
    plan.identity = db::identity_of(plan.topology);
    for (const auto& name : options.collectives.empty() ? default_collectives : options.collectives) {
        if (name == "all") {
            std::ranges::copy_if(collectives::all_collectives(), std::back_inserter(plan.collectives),
                                 [](auto collective) { return !tuner::why_untunable(collective); });
            break;
        }
        plan.collectives.push_back(tunable(name));
    }
    plan.sizes = options.sizes.sizes();
    // A barrier has no size: alone it is one problem.
    if (std::ranges::all_of(plan.collectives, [](auto collective) { return collective == collectives::Collective::barrier; })) plan.sizes = {0};
    plan.named = options.db.has_value();
    const ReleaseTarget target = release_target(core::read_environment(), {options.db, options.journal});
    plan.release_path = target.release;
    plan.journal_path = target.journal;
    if (options.resume && !core::file_exists(plan.journal_path))
        throw Error(ErrorCode::usage, plan.journal_path + ": no such journal, so there is nothing to resume; start a run without --resume");
    if (!options.candidate_zero.empty()) require_not_default(target, core::read_environment());
    plan.target.space.topology = plan.topology;
    plan.target.space.oversubscribed = options.ranks > static_cast<int>(plan.topology.allowed.cpus.size());
    plan.target.space.direct_copies = options.transport == "local" || (options.transport == "shm" && collectives::direct_refusal_here().empty());
    for (const auto& text : options.candidate_zero)
        plan.target.candidate_zero.push_back(tuner::parse_candidate_zero(text));
    fill_session(options, plan);
    return plan;
}

std::vector<db::ReleaseRow> rows_to_recheck(const TunePlan& plan) {
    std::vector<db::ReleaseRow> rows;
    for (const auto& row : db::read_release(plan.release_path).rows) {
        const bool ours = row.identity == plan.identity && row.row.key.ranks == plan.session.team.ranks && row.row.key.transport == plan.session.team.transport;
        if (ours) rows.push_back(row);
    }
    if (rows.empty())
        throw Error(ErrorCode::not_found,
                    fmt::format("{}: no row of this machine for {} ranks over {}, so there is nothing to re-test; attune-db show lists its rows",
                                plan.release_path, plan.session.team.ranks, plan.session.team.transport));
    return rows;
}

}  // namespace attune::tools
