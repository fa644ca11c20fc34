#include "apps/tools/bench/sweep.hpp"

#include "libcore/error.hpp"
#include "libcore/samples.hpp"

#include <algorithm>
#include <cmath>

namespace attune::tools::bench {

namespace {

constexpr double row_time_ns = 100e6;  // of the timed iterations of one cell, when their number is not given
constexpr std::uint64_t fewest_iterations = 10;
constexpr std::uint64_t most_iterations = 1000;
constexpr std::uint64_t probe_iterations = 3;

Times times_of(const std::vector<double>& ns) {
    const core::MedianInterval interval = core::median_interval(ns, 0.95);
    Times times;
    times.median_us = interval.median / 1e3;
    times.low_us = interval.low / 1e3;
    times.high_us = interval.high / 1e3;
    times.minimum_us = *std::ranges::min_element(ns) / 1e3;
    times.p95_us = core::quantile(ns, 0.95) / 1e3;
    times.p99_us = core::quantile(ns, 0.99) / 1e3;
    times.iterations = ns.size();
    return times;
}

bool fails(Cell& cell, tuner::CheckOutcome outcome, const std::string& message) {
    if (outcome == tuner::CheckOutcome::ok || outcome == tuner::CheckOutcome::wrong) return false;
    cell.failed = true;
    cell.reason = message;
    return true;
}

tuner::SampleOptions sample_options(const Options& options) {
    tuner::SampleOptions sample;
    sample.warm_up = options.warm_up;
    sample.cache = cache_mode(options);
    sample.start = start_mode(options);
    return sample;
}

std::uint64_t iterations_for(const Options& options, const tuner::SampleResult& probe) {
    if (options.iterations != 0) return options.iterations;
    const double one = std::max(core::median(probe.ns) * static_cast<double>(probe.batch), 1.0);
    return std::clamp(static_cast<std::uint64_t>(row_time_ns / one), fewest_iterations, most_iterations);
}

void time_cell(const SweepContext& context, tuner::Arena& arena, Cell& cell) {
    tuner::SampleOptions sample = sample_options(context.options);
    sample.iterations = probe_iterations;
    const tuner::SampleResult probe = arena.sample(0, sample);
    if (fails(cell, probe.outcome, probe.message)) return;
    sample.iterations = iterations_for(context.options, probe);
    sample.batch = probe.batch;
    sample.warm_up = 1;
    const tuner::SampleResult result = arena.sample(0, sample);
    if (fails(cell, result.outcome, result.message)) return;
    cell.round_trip_ns = arena.ping();
    cell.placement = profiler::classify(context.machine.cuts, cell.round_trip_ns, arena.oversubscribed());
    cell.times = times_of(result.ns);
    cell.batch = result.batch;
}

void check_cell(tuner::Arena& arena, Cell& cell) {
    const tuner::CheckResult result = arena.check(0);
    if (fails(cell, result.outcome, result.message)) return;
    cell.wrong = result.wrong;
    if (result.wrong != 0) cell.reason = result.message;
}

Cell measure(const SweepContext& context, const collectives::Chooser& chooser, const collectives::Problem& problem) {
    Cell cell;
    cell.problem = problem;
    try {
        cell.choice = chooser.choose(problem);
    } catch (const core::Error& error) {
        if (error.code() != core::ErrorCode::usage) throw;
        cell.reason = error.what();
        return cell;
    }
    tuner::Arena& arena = context.teams.team(team_options(context.options, problem.ranks));
    try {
        arena.load({problem, {cell.choice.config}});
    } catch (const core::Error& error) {
        fails(cell, tuner::CheckOutcome::failed, error.what());
        return cell;
    }
    if (context.options.check) check_cell(arena, cell);
    if (!cell.failed) time_cell(context, arena, cell);
    return cell;
}

}  // namespace

void sweep(const SweepContext& context, int ranks, const std::function<void(const Line&)>& done) {
    const collectives::Chooser chooser = chooser_of(context.machine, context.options, ranks);
    for (collectives::Problem problem : problems_of(context.options, ranks)) {
        Line line;
        for (const bool in_place : forms_of(context.options, problem)) {
            problem.in_place = in_place;
            line.cells.push_back(measure(context, chooser, problem));
        }
        done(line);
    }
}

void Totals::add(const Line& line) {
    for (const Cell& cell : line.cells) {
        measured += cell.times ? 1 : 0;
        failed += cell.failed ? 1 : 0;
        checked += cell.wrong ? 1 : 0;
        wrong += cell.wrong.value_or(0);
        if (cell.failed && first_failure.empty()) first_failure = cell.reason;
        if (!cell.reason.empty()) last_reason = cell.reason;
        if (!cell.times) continue;
        const std::optional<double> bus = bus_bandwidth(cell.problem, cell.times->median_us);
        bus_sum += bus.value_or(0);
        bus_count += bus ? 1 : 0;
    }
}

std::optional<double> Totals::average_bus_bandwidth() const {
    if (bus_count == 0) return std::nullopt;
    return bus_sum / static_cast<double>(bus_count);
}

int Totals::exit_code() const {
    if (wrong != 0) return static_cast<int>(core::ErrorCode::check_failed);
    if (failed != 0) return static_cast<int>(core::ErrorCode::failure);
    if (measured == 0) throw core::Error(core::ErrorCode::usage, "nothing was measured: " + last_reason);
    return 0;
}

}  // namespace attune::tools::bench
