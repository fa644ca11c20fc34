#include "collectives/proof_sweep.hpp"

#include "collectives/amounts.hpp"
#include "collectives/node_map.hpp"
#include "collectives/sample_amounts.hpp"
#include "libcore/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

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

std::vector<std::string> cyclic_labels(int ranks, int nodes) {
    std::vector<std::string> labels;
    for (int rank = 0; rank < ranks; ++rank)
        labels.push_back(std::to_string(rank % nodes));
    return labels;
}

bool cuts_vector(Collective collective) {
    return collective == Collective::all_reduce || collective == Collective::broadcast;
}

std::string config_text(const SweepProblem& item, const Cut& cut) {
    return fmt::format("{},in_place={},segment_elements={},channels={}", item.text, item.problem.in_place ? "yes" : "no", cut.segment_elements, cut.channels);
}

// Small and uneven, and long enough for three segments on two channels.
std::vector<SweepProblem> problems_with_amounts(const Problem& shape, std::span<const std::uint64_t> more) {
    std::vector<SweepProblem> problems;
    std::vector<std::uint64_t> units = {1, 13};
    units.insert(units.end(), more.begin(), more.end());
    for (const AmountsShape form : all_amounts_shapes()) {
        for (const std::uint64_t unit : units) {
            if (form == AmountsShape::all_zero && unit != units.front()) continue;
            problems.push_back({with_sample_amounts(shape, form, unit), fmt::format("amounts={}*{}", name_of(form), unit)});
            if (shape.collective != Collective::all_to_all_v) continue;
            problems.push_back(problems.back());
            problems.back().known_matrix = false;
            problems.back().text += ",known_matrix=no";
        }
    }
    return problems;
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

std::vector<std::string> sweep_node_maps(int ranks) {
    std::vector<std::string> labels;
    for (int rank = 0; rank < ranks; ++rank)
        labels.push_back(std::to_string(rank * rank % 5 / 2));
    std::vector<std::string> texts = {NodeMap::blocks(ranks, ranks).text(), NodeMap::blocks(ranks, 1).text(), NodeMap::blocks(ranks, 2).text()};
    for (const std::vector<std::string>& map : {cyclic_labels(ranks, 3), labels})
        texts.push_back(NodeMap::of_labels(map).text());
    std::ranges::sort(texts);
    texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
    return texts;
}

std::vector<SweepProblem> sweep_problems(const Algorithm& algorithm, const Problem& shape, std::span<const std::uint64_t> more) {
    if (has_amounts(shape.collective)) return problems_with_amounts(shape, more);
    std::vector<std::uint64_t> counts = sweep_counts(shape.collective, shape.ranks);
    if (shape.collective != Collective::barrier) counts.insert(counts.end(), more.begin(), more.end());
    const std::vector<std::string> maps = algorithm.constraints.uses_nodes ? sweep_node_maps(shape.ranks) : std::vector<std::string>{""};
    std::vector<SweepProblem> problems;
    for (const std::uint64_t count : counts) {
        for (const std::string& map : maps) {
            SweepProblem& made = problems.emplace_back(SweepProblem{shape, fmt::format("count={}", count)});
            made.problem.count = count;
            made.problem.node_map = map;
            if (!map.empty()) made.text += ",node_map=" + map;
        }
    }
    return problems;
}

std::vector<Cut> sweep_cuts(const Algorithm& algorithm, const Problem& problem) {
    const bool blocks = has_amounts(problem.collective) && problem.collective != Collective::send_recv;
    const std::uint64_t count = blocks ? longest_block(problem) : problem.count;
    const bool segmentable = algorithm.constraints.segmentable && (!blocks || amounts_known_to_all(problem));
    std::vector<Cut> cuts;
    for (int channels = 1; channels <= (algorithm.constraints.splittable ? 2 : 1); ++channels) {
        cuts.push_back({0, channels});
        const auto many = static_cast<std::uint64_t>(channels);
        const std::uint64_t longest = (count + many - 1) / many;
        const std::uint64_t segment = longest / 3 + 1;  // the third segment is shorter, for all lengths but 1, 2 and 4
        if (segmentable && segment < longest) cuts.push_back({segment, channels});
    }
    return cuts;
}

SweepResult ProofSweep::run(const Algorithm& algorithm) {
    SweepResult result;
    for (const int ranks : options_.ranks) {
        Problem shape;
        shape.collective = algorithm.collective;
        shape.ranks = ranks;
        core::Config config = options_.pinned;
        config.set("algorithm", algorithm.name);
        if (const std::optional<std::string> reason = reject(problems_for(algorithm, shape).front().problem, config)) {
            result.skipped.push_back(fmt::format("{} ranks: {}", ranks, *reason));
            continue;
        }
        const std::vector<int> roots = is_rooted(algorithm.collective) ? options_.roots(ranks) : std::vector<int>{0};
        for (const int root : roots) {
            shape.root = root;
            run_shape(algorithm, shape, result);
            if (result.stopped) return result;
        }
    }
    return result;
}

std::vector<SweepProblem> ProofSweep::problems_for(const Algorithm& algorithm, const Problem& shape) const {
    const std::uint64_t segment = options_.pinned.number("segment_bytes", 0) / core::size_of(shape.dtype);
    // Three segments, the last shorter, on every channel.
    std::vector<std::uint64_t> more;
    if (segment > 0) more.push_back((2 * segment + segment / 2 + 1) * std::max<std::uint64_t>(options_.pinned.number("channels", 2), 1));
    return sweep_problems(algorithm, shape, more);
}

std::vector<Cut> ProofSweep::cuts_for(const Algorithm& algorithm, const Problem& problem) const {
    const Cut pinned = cut_of(problem, options_.pinned);
    const bool one_segment_length = options_.pinned.get("segment_bytes").has_value();
    const bool one_channel_count = options_.pinned.get("channels").has_value();
    std::vector<Cut> cuts;
    for (Cut cut : sweep_cuts(algorithm, problem)) {
        if ((one_segment_length && cut.segment_elements != 0) || (one_channel_count && cut.channels > 1)) continue;
        if (one_segment_length) cut.segment_elements = pinned.segment_elements;
        if (one_channel_count) cut.channels = pinned.channels;
        cuts.push_back(cut);
    }
    return cuts;
}

void ProofSweep::run_shape(const Algorithm& algorithm, const Problem& shape, SweepResult& result) {
    for (const SweepProblem& made : problems_for(algorithm, shape)) {
        for (const core::Op op : ops_for(shape.collective)) {
            SweepProblem item = made;
            item.problem.op = op;
            if (op == core::Op::avg) item.text += ",op=avg";
            prove_places(algorithm, item, result);
            if (result.stopped) return;
        }
    }
}

void ProofSweep::prove(const Algorithm& algorithm, const SweepProblem& item, const Cut& cut, SweepResult& result) {
    const std::string reason = refute_both(algorithm, item, cut);
    if (reason.empty()) {
        ++result.proved;
    } else {
        result.failures.push_back({algorithm.collective, std::string(algorithm.name), item.problem.ranks, item.problem.root, config_text(item, cut), reason});
    }
}

std::span<const core::Op> ProofSweep::ops_for(Collective collective) {
    static constexpr std::array ops = {core::Op::sum, core::Op::avg};
    return std::span(ops).first(can_average(collective) ? 2 : 1);
}

void ProofSweep::prove_places(const Algorithm& algorithm, SweepProblem& item, SweepResult& result) {
    const bool both_places = item.problem.collective != Collective::barrier && algorithm.constraints.in_place;
    for (const bool in_place : {false, true}) {
        if (in_place && !both_places) continue;
        item.problem.in_place = in_place;
        for (const Cut& cut : cuts_for(algorithm, item.problem)) {
            if (!item.known_matrix && cut.segment_elements != 0) continue;
            result.stopped = options_.stop && options_.stop();
            if (result.stopped) return;
            prove(algorithm, item, cut, result);
        }
    }
}

std::string ProofSweep::refute_both(const Algorithm& algorithm, const SweepProblem& item, const Cut& cut) {
    const Problem& problem = item.problem;
    schedules_.clear();
    views_.clear();
    for (Rank rank = 0; rank < problem.ranks; ++rank) {
        const bool whole = problem.collective == Collective::all_to_all_v && item.known_matrix;
        views_.push_back(whole ? problem : view_of(problem, rank));
        schedules_.push_back(generate(views_.back(), algorithm, cut, rank));
    }
    if (const std::optional<std::string> reason = verifier_.refute(problem, schedules_)) return "schedule: " + *reason;
    for (const Protocol protocol : protocols_for(problem.ranks)) {
        if (std::string reason = refute_plans(problem, algorithm, cut, protocol); !reason.empty()) return reason;
    }
    return {};
}

// Gets are part of every plan with puts, and mixed messages are gets to a proof: plans with puts speak for them. To compile one takes the schedules of all
// peers, so large teams are proved with staged messages alone; a schedule that may be put at 9 ranks is cut no differently at more.
std::vector<Protocol> ProofSweep::protocols_for(int ranks) const {
    if (options_.pinned.get("protocol")) return {compile_options(options_.pinned, CompileOptions{}.fragment_bytes).protocol};
    if (ranks <= 5) return {Protocol::staged, Protocol::cma_put, Protocol::cma_get, Protocol::mixed};
    if (ranks <= 9) return {Protocol::staged, Protocol::cma_put};
    return {Protocol::staged};
}

std::string ProofSweep::refute_plans(const Problem& problem, const Algorithm& algorithm, const Cut& cut, Protocol protocol) {
    // Small enough that the counts of a sweep give messages on both sides of it.
    CompileOptions options;
    options.inline_bytes = options_.pinned.number("inline_bytes", 48);
    options.protocol = protocol;
    const std::string what = protocol == Protocol::staged ? "plan: " : fmt::format("plan with protocol={}: ", name_of(protocol));
    plans_.clear();
    try {
        for (const Schedule& schedule : schedules_) {
            // As a rank of a job sees it: what its peers do it knows from its own view.
            const Problem& view = views_[static_cast<std::size_t>(schedule.rank)];
            const auto schedule_of = [&](Rank peer) {
                return has_amounts(view.collective) ? generate(view, algorithm, cut, peer) : schedules_[static_cast<std::size_t>(peer)];
            };
            plans_.push_back(compile(view, schedule, options, schedules_known_to_all(view) ? ScheduleOf(schedule_of) : ScheduleOf{}));
        }
    } catch (const core::Error& error) {
        return what + error.what();
    }
    if (const std::optional<std::string> reason = verifier_.refute(problem, plans_)) return what + *reason;
    return {};
}

}  // namespace attune::collectives
