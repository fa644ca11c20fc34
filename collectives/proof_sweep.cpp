#include "collectives/proof_sweep.hpp"

#include "libcore/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace attune::collectives {

namespace {

bool is_prime(std::uint64_t number) {
    for (std::uint64_t divisor = 2; divisor * divisor <= number; ++divisor) {
        if (number % divisor == 0) return false;
    }
    return number > 1;
}

std::uint64_t prime_above(std::uint64_t number) {
    do {
        ++number;
    } while (!is_prime(number));
    return number;
}

bool cuts_vector(Collective collective) {
    return collective == Collective::all_reduce || collective == Collective::broadcast;
}

std::string config_text(const Problem& problem, const Cut& cut) {
    return fmt::format("count={},in_place={},segment_elements={},channels={}", problem.count, problem.in_place ? "yes" : "no", cut.segment_elements,
                       cut.channels);
}

}  // namespace

std::vector<std::uint64_t> sweep_counts(Collective collective, int ranks) {
    if (collective == Collective::barrier) return {0};
    const auto p = static_cast<std::uint64_t>(ranks);
    std::vector<std::uint64_t> counts = {0, 1, p - 1, p + 1, cuts_vector(collective) ? prime_above(6 * p + 12) : 13};
    std::ranges::sort(counts);
    counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
    return counts;
}

std::vector<Cut> sweep_cuts(const Algorithm& algorithm, std::uint64_t count) {
    std::vector<Cut> cuts;
    for (int channels = 1; channels <= (algorithm.constraints.splittable ? 2 : 1); ++channels) {
        cuts.push_back({0, channels});
        const auto many = static_cast<std::uint64_t>(channels);
        const std::uint64_t longest = (count + many - 1) / many;
        const std::uint64_t segment = longest / 3 + 1;  // the third segment is shorter, for all lengths but 1, 2 and 4
        if (algorithm.constraints.segmentable && segment < longest) cuts.push_back({segment, channels});
    }
    return cuts;
}

SweepResult ProofSweep::run(const Algorithm& algorithm) {
    SweepResult result;
    for (const int ranks : options_.ranks) {
        Problem problem;
        problem.collective = algorithm.collective;
        problem.ranks = ranks;
        core::Config config = options_.pinned;
        config.set("algorithm", algorithm.name);
        if (const std::optional<std::string> reason = reject(problem, config)) {
            result.skipped.push_back(fmt::format("{} ranks: {}", ranks, *reason));
            continue;
        }
        const std::vector<int> roots = is_rooted(algorithm.collective) ? options_.roots(ranks) : std::vector<int>{0};
        for (const int root : roots) {
            problem.root = root;
            run_problem(algorithm, problem, result);
            if (result.stopped) return result;
        }
    }
    return result;
}

std::vector<std::uint64_t> ProofSweep::counts_for(const Problem& problem) const {
    std::vector<std::uint64_t> counts = sweep_counts(problem.collective, problem.ranks);
    const std::uint64_t segment = options_.pinned.number("segment_bytes", 0) / core::size_of(problem.dtype);
    // Three segments, the last shorter, on every channel.
    if (segment > 0) counts.push_back((2 * segment + segment / 2 + 1) * std::max<std::uint64_t>(options_.pinned.number("channels", 2), 1));
    return counts;
}

std::vector<Cut> ProofSweep::cuts_for(const Algorithm& algorithm, const Problem& problem) const {
    const Cut pinned = cut_of(problem, options_.pinned);
    const bool one_segment_length = options_.pinned.get("segment_bytes").has_value();
    const bool one_channel_count = options_.pinned.get("channels").has_value();
    std::vector<Cut> cuts;
    for (Cut cut : sweep_cuts(algorithm, problem.count)) {
        if ((one_segment_length && cut.segment_elements != 0) || (one_channel_count && cut.channels > 1)) continue;
        if (one_segment_length) cut.segment_elements = pinned.segment_elements;
        if (one_channel_count) cut.channels = pinned.channels;
        cuts.push_back(cut);
    }
    return cuts;
}

void ProofSweep::run_problem(const Algorithm& algorithm, const Problem& shape, SweepResult& result) {
    Problem problem = shape;
    const bool both_places = problem.collective != Collective::barrier && algorithm.constraints.in_place;
    for (const std::uint64_t count : counts_for(shape)) {
        problem.count = count;
        for (int place = 0; place < (both_places ? 2 : 1); ++place) {
            problem.in_place = place == 1;
            for (const Cut& cut : cuts_for(algorithm, problem)) {
                result.stopped = options_.stop && options_.stop();
                if (result.stopped) return;
                prove(algorithm, problem, cut, result);
            }
        }
    }
}

void ProofSweep::prove(const Algorithm& algorithm, const Problem& problem, const Cut& cut, SweepResult& result) {
    const std::string reason = refute_both(algorithm, problem, cut);
    if (reason.empty()) {
        ++result.proved;
    } else {
        result.failures.push_back({algorithm.collective, std::string(algorithm.name), problem.ranks, problem.root, config_text(problem, cut), reason});
    }
}

std::string ProofSweep::refute_both(const Algorithm& algorithm, const Problem& problem, const Cut& cut) {
    schedules_.clear();
    for (Rank rank = 0; rank < problem.ranks; ++rank)
        schedules_.push_back(generate(problem, algorithm, cut, rank));
    if (const std::optional<std::string> reason = verifier_.refute(problem, schedules_)) return "schedule: " + *reason;
    // Small enough that the counts of a sweep give messages on both sides of it.
    CompileOptions options;
    options.inline_bytes = options_.pinned.number("inline_bytes", 48);
    plans_.clear();
    try {
        for (const Schedule& schedule : schedules_)
            plans_.push_back(compile(problem, schedule, options));
    } catch (const core::Error& error) {
        return std::string("plan: ") + error.what();
    }
    if (const std::optional<std::string> reason = verifier_.refute(problem, plans_)) return "plan: " + *reason;
    return {};
}

}  // namespace attune::collectives
