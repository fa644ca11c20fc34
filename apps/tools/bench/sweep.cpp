#include "apps/tools/bench/sweep.hpp"

#include "collectives/amounts.hpp"
#include "libcore/error.hpp"
#include "libcore/samples.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace attune::tools::bench {

namespace {

constexpr double longest_row_ns = 100e6;
constexpr double shortest_row_ns = 10e6;
constexpr double sweep_ns = 30e9;  // what a sweep of very many rows may spend on timed iterations, about
constexpr std::uint64_t fewest_iterations = 10;
constexpr std::uint64_t most_iterations = 1000;
constexpr std::uint64_t probe_iterations = 3;
constexpr std::uint64_t streams = 10;  // a stream is one time for all its calls; an interval needs several

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

class Sweep {
public:
    Sweep(const SweepContext& context, int ranks)
        : context_(context), chooser_(chooser_of(context.machine, context.options, ranks)), problems_(problems_of(context.options, ranks)) {
        std::size_t cells = 0;
        for (const collectives::Problem& problem : problems_)
            cells += forms_of(context.options, problem).size();
        row_ns_ = row_time_ns(cells);
    }

    void run(const std::function<void(const Line&)>& done) {
        for (collectives::Problem problem : problems_) {
            Line line;
            for (const bool in_place : forms_of(context_.options, problem)) {
                problem.in_place = in_place;
                line.cells.push_back(measure(problem));
                stop_when_interrupted();
            }
            done(line);
        }
    }

private:
    void stop_when_interrupted() const {
        if (context_.interrupted && context_.interrupted()) throw core::Error(core::ErrorCode::interrupted, "interrupted");
    }

    Cell measure(const collectives::Problem& problem) {
        Cell cell;
        cell.problem = problem;
        cell.shape = shape_of(context_.options, problem.collective);
        cell.messages = messages_of(context_.options, problem);
        try {
            cell.choice = chooser_.choose(collectives::view_of(problem, 0));  // no rank knows more than its own amounts
        } catch (const core::Error& error) {
            if (error.code() != core::ErrorCode::usage) throw;
            cell.reason = error.what();
            return cell;
        }
        tuner::Arena& arena = context_.teams.team(team_options(context_.options, problem.ranks));
        arena.stop_when(context_.interrupted);
        try {
            arena.load({problem, {cell.choice.config}, answers(context_.options, problem.collective)});
            if (context_.options.check) check_cell(arena, cell);
            if (!cell.failed) time_cell(arena, cell);
            if (cell.times) cell.limit_us = limit(arena, problem);
        } catch (const core::Error& error) {
            fails(cell, tuner::CheckOutcome::failed, error.what());
        }
        return cell;
    }

    void check_cell(tuner::Arena& arena, Cell& cell) const {
        const tuner::CheckResult result = arena.check(0);
        if (fails(cell, result.outcome, result.message)) return;
        cell.wrong = result.wrong;
        if (result.wrong != 0) cell.reason = result.message;
    }

    tuner::SampleOptions sample_options(collectives::Collective collective) const {
        const SkewChoice skew = skew_of(context_.options);
        tuner::SampleOptions sample;
        sample.warm_up = context_.options.warm_up;
        sample.cache = cache_mode(context_.options);
        sample.start = start_mode(context_.options, collective);
        sample.skew = skew.skew;
        sample.skew_ns = skew.latest_ns;
        sample.seed = context_.options.seed;
        sample.per_rank = context_.options.per_rank;
        return sample;
    }

    std::uint64_t iterations_for(const tuner::SampleResult& probe) const {
        if (context_.options.iterations != 0) return context_.options.iterations;
        const double one = std::max(core::median(probe.ns) * static_cast<double>(probe.batch), 1.0);
        return std::clamp(static_cast<std::uint64_t>(row_ns_ / one), fewest_iterations, most_iterations);
    }

    // A stream gives one time, whatever its length: several streams share the iterations.
    static tuner::SampleResult sample(tuner::Arena& arena, tuner::SampleOptions options) {
        if (options.start == tuner::StartMode::synchronized) return arena.sample(0, options);
        const std::uint64_t repeats = std::min(streams, options.iterations);
        options.iterations /= repeats;
        tuner::SampleResult all = arena.sample(0, options);
        for (std::uint64_t repeat = 1; repeat < repeats && all.outcome == tuner::CheckOutcome::ok; ++repeat)
            tuner::append(all, arena.sample(0, options));
        return all;
    }

    void time_cell(tuner::Arena& arena, Cell& cell) const {
        tuner::SampleOptions options = sample_options(cell.problem.collective);
        options.iterations = probe_iterations;
        const tuner::SampleResult probe = arena.sample(0, options);
        if (fails(cell, probe.outcome, probe.message)) return;
        options.iterations = iterations_for(probe);
        options.batch = probe.batch;
        options.warm_up = 1;
        const tuner::SampleResult result = sample(arena, options);
        if (fails(cell, result.outcome, result.message)) return;
        cell.round_trip_ns = arena.ping();
        cell.placement = profiler::classify(context_.machine.cuts, cell.round_trip_ns, arena.oversubscribed());
        cell.times = times_of(result.ns);
        cell.batch = result.batch;
        for (const std::vector<double>& ns : result.rank_ns)
            cell.rank_us.push_back(core::median(ns) / 1e3);
    }

    // Measured once for each number of bytes.
    std::optional<double> limit(tuner::Arena& arena, const collectives::Problem& problem) {
        const std::uint64_t bytes = bytes_of(problem);
        if (bytes == 0) return std::nullopt;
        const auto [known, fresh] = limits_.try_emplace(bytes, 0);
        if (fresh) known->second = arena.copy_ns(bytes) / 1e3;
        return known->second;
    }

    const SweepContext& context_;
    collectives::Chooser chooser_;
    std::vector<collectives::Problem> problems_;
    double row_ns_ = longest_row_ns;
    std::map<std::uint64_t, double> limits_;
};

}  // namespace

double row_time_ns(std::size_t cells) noexcept {
    return std::clamp(sweep_ns / static_cast<double>(std::max<std::size_t>(cells, 1)), shortest_row_ns, longest_row_ns);
}

void sweep(const SweepContext& context, int ranks, const std::function<void(const Line&)>& done) {
    Sweep(context, ranks).run(done);
}

std::optional<double> Cell::algorithm_bandwidth() const {
    if (!times) return std::nullopt;
    const std::optional<double> one = bench::algorithm_bandwidth(problem, times->median_us);
    return one ? std::optional(messages * *one) : one;
}

std::optional<double> Cell::bus_bandwidth() const {
    return times ? bench::bus_bandwidth(problem, times->median_us) : std::nullopt;
}

std::optional<double> Cell::message_rate() const {
    if (!times || problem.collective != collectives::Collective::send_recv) return std::nullopt;
    return messages * 1e6 / times->median_us;
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
        const std::optional<double> bus = cell.bus_bandwidth();
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
