#include "tuner/measure.hpp"

#include "libcore/error.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>

namespace attune::tuner {

namespace {

constexpr double confidence = 0.99;
constexpr std::size_t class_minimum = 5;  // blocks of one placement class that may decide
constexpr std::size_t total_minimum = 8;  // the smallest count whose 99 % median interval exists (2^-7 < 1 %)
constexpr double unknown_floor = 1.0;     // nothing is known about the noise: 100 %

bool failed(Block& block, const SampleResult& result) {
    block.outcome = result.outcome;
    block.message = result.message;
    return result.outcome != CheckOutcome::ok;
}

struct Pace {
    std::uint64_t batch = 1;
    std::uint64_t per_visit = 2;  // iterations each time an arm is visited
    std::uint64_t cycles = 1;     // of A B B A
};

// Both arms run the same batch, so that what back-to-back calls hide is hidden in both.
std::optional<Pace> find_pace(Arena& arena, const std::array<std::size_t, 2>& arms, const BlockOptions& options, Block& block) {
    Pace pace;
    double per_call = 0;
    for (const std::size_t arm : arms) {
        SampleOptions probe{.iterations = 3, .warm_up = 1, .batch = 0, .cache = options.cache, .start = options.start};
        const SampleResult result = arena.sample(arm, probe);
        if (failed(block, result)) return std::nullopt;
        pace.batch = std::max(pace.batch, result.batch);
        per_call += core::median(result.ns);
    }
    const double pair_ns = std::max(per_call * static_cast<double>(pace.batch), 1.0);  // one iteration of each arm
    const auto wished = static_cast<std::uint64_t>(std::min(static_cast<double>(options.target_ns) / pair_ns, 1e9));
    const std::uint64_t per_arm = std::clamp(wished, options.minimum_iterations, std::max(options.minimum_iterations, options.maximum_iterations));
    pace.cycles = std::clamp<std::uint64_t>(per_arm / 8, 1, 4);
    pace.per_visit = std::max<std::uint64_t>((per_arm + 2 * pace.cycles - 1) / (2 * pace.cycles), 1);
    return pace;
}

bool visit(Arena& arena, std::size_t arm, const SampleOptions& options, Block& block, std::vector<double>& into) {
    SampleResult result = arena.sample(arm, options);
    if (failed(block, result)) return false;
    into.insert(into.end(), result.ns.begin(), result.ns.end());
    return true;
}

// A B B A, then B A A B, and so on: a drift of the machine falls on both arms alike.
bool alternate(Arena& arena, const std::array<std::size_t, 2>& arms, const Pace& pace, const BlockOptions& options, Block& block) {
    const SampleOptions sample{.iterations = pace.per_visit, .warm_up = 1, .batch = pace.batch, .cache = options.cache, .start = options.start};
    const std::array<std::vector<double>*, 2> into = {&block.a_ns, &block.b_ns};
    for (std::uint64_t cycle = 0; cycle < pace.cycles; ++cycle) {
        const std::size_t first = cycle % 2;
        for (const std::size_t side : {first, 1 - first, 1 - first, first}) {
            if (!visit(arena, arms[side], sample, block, *into[side])) return false;
        }
    }
    return true;
}

std::map<std::string, std::vector<const Block*>> by_placement(const std::vector<Block>& blocks) {
    std::map<std::string, std::vector<const Block*>> classes;
    for (const Block& block : blocks) {
        if (block.kept) classes[block.placement].push_back(&block);
    }
    return classes;
}

double floor_of(std::span<const double> ratios) {
    if (ratios.empty()) return unknown_floor;
    const core::MedianInterval interval = core::median_interval(ratios, confidence);
    return std::max(std::abs(interval.high - 1), std::abs(1 - interval.low));
}

// The floor of this class when it was seen often enough, else of all blocks: a ratio inside one block does not depend on the class much.
double class_floor(const std::vector<Block>& floor_blocks, const std::string& placement) {
    std::vector<double> here;
    for (const Block& block : floor_blocks) {
        if (block.kept && block.placement == placement) here.push_back(block.ratio);
    }
    return here.size() >= total_minimum ? floor_of(here) : noise_floor(floor_blocks);
}

Verdict judge(const Comparison& comparison, std::size_t total, double floor_limit) {
    if (total < total_minimum) return Verdict::inconclusive;
    if (comparison.low > 1 + comparison.floor) return Verdict::slower;
    if (comparison.high < 1 - comparison.floor) return Verdict::faster;
    return comparison.floor > floor_limit ? Verdict::inconclusive : Verdict::same;
}

Comparison compare_class(const std::string& placement, const std::vector<const Block*>& blocks, double floor) {
    Comparison comparison{.placement = placement, .floor = floor, .blocks = blocks.size()};
    std::vector<double> ratios, default_us, tuned_us;
    std::set<std::string> launches;
    for (const Block* block : blocks) {
        ratios.push_back(block->b_median_ns / block->a_median_ns);
        default_us.push_back(block->a_median_ns / 1e3);
        tuned_us.push_back(block->b_median_ns / 1e3);
        launches.insert(block->launch);
    }
    const core::MedianInterval interval = core::median_interval(ratios, confidence);
    comparison.ratio = interval.median;
    comparison.low = interval.low;
    comparison.high = interval.high;
    comparison.default_us = core::median(default_us);
    comparison.tuned_us = core::median(tuned_us);
    comparison.launches = launches.size();
    return comparison;
}

// Slower before everything; then what is farthest from being faster.
bool worse(const Comparison& left, const Comparison& right) {
    const auto key = [](const Comparison& c) { return std::pair{c.verdict == Verdict::slower, c.ratio}; };
    return key(left) > key(right);
}

}  // namespace

std::string_view name_of(Verdict verdict) noexcept {
    constexpr std::array<std::string_view, 4> names = {"faster", "same", "slower", "inconclusive"};
    return names[static_cast<std::size_t>(verdict)];
}

Block paired_block(Arena& arena, std::size_t a, std::size_t b, const profiler::PlacementCuts& cuts, const BlockOptions& options) {
    Block block;
    block.launch = arena.launch();
    const std::array arms = {a, b};
    const double before = arena.ping();
    block.placement = profiler::classify(cuts, before, arena.oversubscribed());
    const std::optional<Pace> pace = find_pace(arena, arms, options, block);
    if (!pace) return block;
    block.batch = pace->batch;
    if (!alternate(arena, arms, *pace, options, block)) return block;
    const double after = arena.ping();
    block.round_trip_ns = (before + after) / 2;
    block.a_median_ns = core::median(block.a_ns);
    block.b_median_ns = core::median(block.b_ns);
    block.ratio = block.b_median_ns > 0 ? block.a_median_ns / block.b_median_ns : 0;
    block.kept = arena.alive() && block.ratio > 0 && profiler::classify(cuts, after, arena.oversubscribed()) == block.placement;
    return block;
}

double noise_floor(const std::vector<Block>& default_against_default) {
    std::vector<double> ratios;
    for (const Block& block : default_against_default) {
        if (block.kept) ratios.push_back(block.ratio);
    }
    return floor_of(ratios);
}

Comparison compare(const std::vector<Block>& blocks, const std::vector<Block>& floor_blocks, double floor_limit) {
    const auto classes = by_placement(blocks);
    std::size_t total = 0;
    std::size_t largest = 0;
    for (const auto& [placement, members] : classes) {
        total += members.size();
        largest = std::max(largest, members.size());
    }
    std::optional<Comparison> worst;
    for (const auto& [placement, members] : classes) {
        if (members.size() < std::min(class_minimum, largest)) continue;  // too rarely seen to decide
        Comparison comparison = compare_class(placement, members, class_floor(floor_blocks, placement));
        comparison.verdict = judge(comparison, total, floor_limit);
        if (!worst || worse(comparison, *worst)) worst = comparison;
    }
    if (worst) return *worst;
    Comparison nothing;
    nothing.floor = noise_floor(floor_blocks);
    return nothing;
}

}  // namespace attune::tuner
