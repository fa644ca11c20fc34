// attune-tune: searches, records and publishes the fastest configurations of this machine.
#include "apps/tools/support/disturbance.hpp"
#include "apps/tools/support/interrupt.hpp"
#include "apps/tools/support/progress.hpp"
#include "apps/tools/support/release_target.hpp"
#include "apps/tools/support/run_tool.hpp"
#include "apps/tools/support/tune_plan.hpp"
#include "apps/tools/support/tune_screens.hpp"
#include "libcore/error.hpp"
#include "tuner/arena_factory.hpp"
#include "tuner/strategy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string_view>

namespace {

namespace tools = attune::tools;
namespace core = attune::core;
namespace collectives = attune::collectives;
namespace db = attune::db;
namespace tuner = attune::tuner;

std::size_t count_candidates(const tools::TunePlan& plan, tuner::Target& target) {
    std::size_t count = 0;
    for (const auto& problem : plan.session.problems)
        count += target.candidates(problem).size() - 1;
    return count;
}

std::vector<std::string> current_disturbances(const tools::TunePlan& plan) {
    return tools::disturbances(
        {.ranks = plan.session.team.ranks, .allowed_cpus = static_cast<int>(plan.topology.allowed.cpus.size()), .load = tools::current_load()});
}

tuner::SessionResult tune(const tools::TunePlan& plan, const tools::TuneOptions& options, tuner::Target& target, const tools::InterruptGuard& guard) {
    auto journal = db::Journal::open(plan.journal_path, plan.identity, plan.session.context);
    core::MonotonicClock clock;
    tools::Progress bar({.mode = tools::progress_mode(options.quiet), .title = "tuning", .columns = 100, .clock = nullptr, .sink = {}});
    tuner::SessionParts parts{target, journal, plan.identity, clock, {}, {}};
    parts.progress = [&](const tuner::Progress& progress) {
        const double spent = static_cast<double>(progress.spent_ns);
        const double budget = static_cast<double>(progress.budget_ns);
        bar.update(std::min(spent / budget, 1.0), tools::progress_detail(progress), std::max(budget - spent, 0.0) / 1e9);
    };
    parts.interrupted = [&] { return guard.interrupted(); };
    return tuner::run_session(plan.session, parts);
}

int run(const tools::TuneOptions& options, const std::vector<std::string>& words) {
    auto plan = tools::plan_tune(options);
    tools::require_publishable({plan.release_path, plan.journal_path});
    if (options.recheck) plan.session.recheck = tools::rows_to_recheck(plan);
    tuner::CollectiveTarget target(plan.target);
    const std::size_t candidates = options.recheck ? 0 : count_candidates(plan, target);
    const tools::Paint remarks(tools::use_color(options.color, 2));
    // A closed or full standard error stops no tuning.
    if (!options.quiet) std::fputs(tools::first_screen(plan, candidates, current_disturbances(plan), remarks).c_str(), stderr);
    const tools::InterruptGuard guard;
    const auto result = tune(plan, options, target, guard);
    if (options.json) tools::print_json(tools::tune_json(plan, result));
    if (result.interrupted) {
        // A re-test is short and starts anew.
        const std::string next = options.recheck ? tools::command_of(words) : tools::resume_command(words);
        std::fputs(fmt::format("attune-tune: interrupted, {} trials saved; go on with: {}{}\n", result.trials, plan.folder, next).c_str(), stderr);
        return static_cast<int>(core::ErrorCode::interrupted);
    }
    if (!options.json) fmt::print("{}", tools::last_screen(plan, result, tools::Paint(tools::use_color(options.color, 1))));
    return 0;
}

void add_space_options(CLI::App& app, tools::TuneOptions& options) {
    std::vector<std::string> names{"all"};
    for (const auto collective : collectives::all_collectives())
        names.emplace_back(collectives::name_of(collective));
    tools::add_word_list_option(app, "collectives", options.collectives,
                                {"collective", names, "What to tune; default: all_reduce all_gather reduce_scatter broadcast"});
    tools::add_word_option(app, "--target", options.target, {"target", {"collective"}});
    std::vector<std::string> strategies(tuner::strategy_names().begin(), tuner::strategy_names().end());
    tools::add_word_option(app, "--strategy", options.strategy, {"strategy", strategies});
    tools::add_ranks_option(app, options.ranks);
    tools::add_transport_option(app, options.transport);
    tools::add_size_options(app, options.sizes);
    app.add_option("-d,--dtype", options.dtype, "Element type")->type_name("TYPE")->capture_default_str();
    app.add_option("-o,--op", options.op, "Reduction operator")->type_name("OP")->capture_default_str();
    tools::add_word_option(app, "--in-place", options.in_place, {"placement", {"no", "yes"}, "no | yes: one buffer for input and output"});
    app.add_option("--candidate-zero", options.candidate_zero, "Test option: measure against this algorithm instead of the default; needs --db")
        ->type_name("COLLECTIVE:ALGORITHM")
        ->allow_extra_args(false);
}

tools::Body set_up(CLI::App& app, const std::vector<std::string>& words, const std::string& folder) {
    const auto options = std::make_shared<tools::TuneOptions>();
    options->folder = folder;
    options->ranks = tools::default_ranks();
    add_space_options(app, *options);
    auto* budget = tools::add_duration_option(app, "--budget", options->budget_ns, "Time for everything (30s, 2m, 1h); default 120s");
    tools::add_db_option(app, options->db);
    tools::add_journal_option(app, options->journal);
    app.add_flag("--resume", options->resume, "Go on with the last run, also after a kill");
    app.add_flag("--no-publish", options->no_publish, "Search and re-test, but write no release");
    app.add_flag("--recheck", options->recheck, "Re-test the published rows against today's default, and republish those that hold");
    tools::add_seed_option(app, options->seed);
    tools::add_timeout_option(app, options->timeout_ns);
    tools::add_json_option(app, options->json);
    tools::add_quiet_option(app, options->quiet);
    tools::add_color_option(app, options->color);
    return [options, budget, words] {
        options->budget_given = budget->count() > 0;
        return run(*options, words);
    };
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1 && std::string_view(argv[1]) == tuner::arena_rank_word) return tuner::arena_rank_main();
    const tools::ToolInfo info = {"attune-tune",
                                  "Measures every configuration that can run against the default, re-tests the winners in fresh launches and publishes what is "
                                  "proven faster. Every measurement is saved before the next one starts.",
                                  "attune-tune                                     tune this machine in two minutes\n"
                                  "attune-tune all_reduce -n 4 --budget 30s --db my.attune.db\n"
                                  "attune-tune --resume                            go on after a kill"};
    const std::vector<std::string> words(argv + 1, argv + argc);
    const std::string program = argv[0];
    const std::string folder = program.substr(0, program.rfind('/') + 1);  // nothing when found on PATH: npos + 1 = 0
    return tools::run_tool(info, argc, argv, [&](CLI::App& app) { return set_up(app, words, folder); });
}
