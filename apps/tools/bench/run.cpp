#include "apps/tools/bench/run.hpp"

#include "apps/tools/bench/compare.hpp"
#include "apps/tools/bench/compare_report.hpp"
#include "apps/tools/bench/list.hpp"
#include "apps/tools/bench/plot.hpp"
#include "apps/tools/bench/report.hpp"
#include "apps/tools/support/interrupt.hpp"
#include "apps/tools/support/progress.hpp"
#include "collectives/bootstrap_job.hpp"
#include "collectives/team_facts.hpp"
#include "libcore/environment.hpp"
#include "libcore/error.hpp"
#include "libcore/log.hpp"
#include "tuner/arena_factory.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace attune::tools::bench {

namespace {

constexpr std::int64_t row_budget_ns = 60'000'000'000;
constexpr std::int64_t sweep_budget_ns = 10'000'000'000;

void print(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);  // a line appears when it is measured, also in a pipe
}

// Prints the sweep while it runs, or collects it for the JSON document.
class SweepPrinter {
public:
    SweepPrinter(const Options& options, const Machine& machine) : options_(options), machine_(machine) {
        if (!options.markdown.empty()) open_markdown();
        if (options.csv) print(csv_titles());
    }

    // The header waits for the first line: a wrong word prints nothing on standard output.
    void begin(int ranks) {
        collective_.reset();
        header_ = as_table() ? header_text(options_, machine_, ranks) : "";
    }
    void add(const Line& line) {
        totals_.add(line);
        if (options_.json || options_.plot || markdown_.is_open()) lines_.push_back(line);
        if (options_.csv) print(csv_text(line));
        if (!as_table()) return;
        print(std::exchange(header_, ""));
        const collectives::Collective collective = line.cells.front().problem.collective;
        if (collective_ != collective) print(titles_text(options_, collective));
        collective_ = collective;
        print(line_text(options_, line));
    }
    int end() {
        const int code = totals_.exit_code();
        if (options_.json) print_json(bench_json(options_, machine_, lines_));
        if (as_table()) print(footer_text(options_, totals_));
        if (options_.plot) print_plots();
        if (markdown_.is_open()) write_markdown();
        if (totals_.failed != 0) core::Log(options_.log, "attune-bench").error(failure_text(totals_));
        return code;
    }

private:
    bool as_table() const { return !options_.json && !options_.csv; }

    // Before anything is measured: a file that cannot be written should not cost a minute.
    void open_markdown() {
        markdown_.open(options_.markdown);
        if (!markdown_) throw core::Error(core::ErrorCode::failure, "cannot write " + options_.markdown + ": " + std::strerror(errno));
    }
    void write_markdown() {
        markdown_ << markdown_text(options_, machine_, lines_) << std::flush;
        if (!markdown_) throw core::Error(core::ErrorCode::failure, "cannot write all of " + options_.markdown + "; the disk may be full");
    }
    void print_plots() const {
        PlotOptions how;
        how.unicode = ::isatty(STDOUT_FILENO) == 1;
        how.paint = Paint(use_color(options_.color, STDOUT_FILENO));
        print("\n" + plots_text(lines_, how));
    }

    const Options& options_;
    const Machine& machine_;
    Totals totals_;
    std::vector<Line> lines_;
    std::ofstream markdown_;
    std::string header_;
    std::optional<collectives::Collective> collective_;
};

// Wrong words are found before anything is printed or started.
void check_words(const Options& options) {
    for (const int ranks : options.ranks.values)
        problems_of(options, ranks);
    forced_choices(options);
}

int run_sweep(const Options& options, const Machine& machine, Teams& teams) {
    SweepPrinter printer(options, machine);
    const InterruptGuard guard;
    for (const int ranks : options.ranks.values) {
        printer.begin(ranks);
        sweep({options, machine, teams, [&] { return guard.interrupted(); }}, ranks, [&](const Line& line) { printer.add(line); });
    }
    return printer.end();
}

void print_comparison(const Options& options, const Machine& machine, const Pairs& pairs) {
    if (options.json) return print_json(compare_json(options, machine, pairs));
    if (options.csv) return print(compare_csv(pairs));
    const Paint paint(use_color(options.color, STDOUT_FILENO));
    print(compare_text(options, pairs, paint) + summary_text(count_verdicts(pairs.pairs)));
}

// A re-test that tested nothing has proved nothing.
void require_pairs(const Options& options, const Machine& machine, const Pairs& pairs) {
    if (!options.rows || !pairs.pairs.empty()) return;
    std::string message = "nothing to re-test: ";
    message += machine.loaded.rows.empty() ? "no row is published for this machine" : "no published row is what these options ask for";
    if (!pairs.skipped.empty()) message = "nothing to re-test: skipped " + pairs.skipped.front();
    if (pairs.skipped.size() > 1) message += " and " + std::to_string(pairs.skipped.size() - 1) + " more";
    throw core::Error(core::ErrorCode::not_found, message + "; attune-db list shows the rows");
}

int run_comparison(const Options& options, const Machine& machine, Teams& teams, bool in_job) {
    Pairs pairs = options.rows ? pairs_of_rows(options, machine) : pairs_of_sweep(options, machine);
    require_pairs(options, machine, pairs);
    ProgressOptions how;
    how.mode = progress_mode(options.quiet);
    how.title = "comparing";
    Progress progress(how);
    const InterruptGuard guard;
    CompareContext context{options, machine, teams, {}, {}, {}};
    context.effort.relaunch = !in_job;
    if (in_job) context.effort.launches = 1;
    context.effort.budget_ns = options.rows ? row_budget_ns : sweep_budget_ns;
    context.progress = [&](double fraction, const std::string& what) { progress.update(fraction, what); };
    context.interrupted = [&] { return guard.interrupted(); };
    measure_pairs(context, pairs.pairs);
    progress.finish();
    print_comparison(options, machine, pairs);
    return exit_code(count_verdicts(pairs.pairs), options.rows);
}

int run_with(const Options& options, Teams& teams, bool in_job) {
    check_words(options);
    const Machine machine = discover_machine(options);
    return options.compare.empty() ? run_sweep(options, machine, teams) : run_comparison(options, machine, teams, in_job);
}

// The job's nodes, unless others were asked for here, and the transport that joins them.
Options in_job(const Options& given, const core::Environment& environment, collectives::Bootstrap& bootstrap) {
    Options options = given;
    const std::string nodes = environment.launch_nodes ? *environment.launch_nodes : collectives::agree_on_nodes(bootstrap).text();
    if (!options.nodes.given()) options.nodes.map = nodes;
    if (!options.ranks_given) options.ranks.values = {bootstrap.size()};
    if (!options.transport_named) options.transport = options.nodes.transport(bootstrap.size());
    return options;
}

int run_as_job(const Options& given, const collectives::JobStart& start) {
    if (given.rows) throw core::Error(core::ErrorCode::usage, "--rows needs fresh launches; run attune-bench without attune-run");
    const core::Log log(given.log, "attune-bench");
    const auto bootstrap = collectives::make_job_bootstrap(start, collectives::bootstrap_patience, [&](const std::string& line) { log.warn(line); });
    const Options options = in_job(given, start.environment, *bootstrap);
    const int ranks = bootstrap->size();
    return tuner::run_in_job(*bootstrap, team_options(options, ranks), [&](tuner::Arena& arena) {
        JobTeam team(arena, ranks);
        return run_with(options, team, true);
    });
}

int print_list(const Options& options) {
    const auto foreign = core::read_foreign_launch();
    if (core::read_environment().rank.value_or(foreign ? foreign->rank : 0) != 0) return 0;
    if (options.json) {
        print_json(list_json(options));
    } else if (options.csv) {
        print(list_csv(options));
    } else {
        print(list_text(options));
    }
    return 0;
}

}  // namespace

int run(const Options& options) {
    validate(options);
    if (options.list) return print_list(options);
    const collectives::JobStart start = collectives::read_job_start();
    if (collectives::started_as_rank(start)) return run_as_job(options, start);
    LaunchedTeams teams;
    return run_with(options, teams, false);
}

}  // namespace attune::tools::bench
