#include "apps/tools/bench/compare.hpp"

#include "libcore/clock.hpp"
#include "libcore/error.hpp"
#include "libcore/samples.hpp"
#include "libcore/units.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <utility>

namespace attune::tools::bench {

namespace {

constexpr std::uint64_t large_bytes = 64 * 1024;
constexpr std::uint64_t blocks_per_visit = 5;
constexpr int launch_attempts = 3;  // a team that dies three times with one pair is that pair's fault

std::uint64_t kept(const std::vector<tuner::Block>& blocks) {
    return static_cast<std::uint64_t>(std::ranges::count_if(blocks, [](const tuner::Block& block) { return block.kept; }));
}

std::uint64_t launches(const std::vector<tuner::Block>& blocks) {
    std::set<std::string> ids;
    for (const tuner::Block& block : blocks) {
        if (block.kept) ids.insert(block.launch);
    }
    return ids.size();
}

std::string label(const Pair& pair) {
    return std::string(name_of(pair.problem.collective)) + " " + core::format_bytes(bytes_of(pair.problem)) + (pair.problem.in_place ? " in place" : "");
}

class Measurement {
public:
    Measurement(const CompareContext& context, std::vector<Pair>& pairs) : context_(context), pairs_(pairs), random_(context.options.seed) {}

    void run() {
        while (true) {
            const std::vector<std::size_t> open = open_pairs();
            if (open.empty()) return;
            std::vector<std::size_t> left = open;
            while (!left.empty())
                left = visit_team(left);
            if (!context_.effort.relaunch && ++visits_ > job_visits) return;
        }
    }

private:
    static constexpr int job_visits = 64;

    // In random order, so that no pair always follows the same one.
    std::vector<std::size_t> open_pairs() {
        std::vector<std::size_t> open;
        for (std::size_t i = 0; i < pairs_.size(); ++i) {
            if (!settled(pairs_[i], context_.effort)) open.push_back(i);
        }
        std::ranges::shuffle(open, random_);
        return open;
    }

    // One launch for all pairs that want the same team; returns the others.
    std::vector<std::size_t> visit_team(const std::vector<std::size_t>& open) {
        const tuner::TeamOptions team = pairs_[open.front()].team;
        tuner::Arena* arena = &launch(team);
        std::vector<std::size_t> others;
        for (const std::size_t index : open) {
            if (!same_team(pairs_[index].team, team)) {
                others.push_back(index);
                continue;
            }
            if (!arena->alive()) arena = &launch(team);
            stop_when_interrupted();
            visit(pairs_[index], *arena);
            report(pairs_[index]);
        }
        return others;
    }

    tuner::Arena& launch(const tuner::TeamOptions& team) { return context_.effort.relaunch ? context_.teams.fresh(team) : context_.teams.team(team); }

    void stop_when_interrupted() const {
        if (context_.interrupted && context_.interrupted()) throw core::Error(core::ErrorCode::interrupted, "interrupted; nothing was decided");
    }

    void visit(Pair& pair, tuner::Arena& arena) {
        const std::int64_t start = core::now_ns();
        try {
            arena.load({pair.problem, {pair.default_config, pair.tuned_config}, answers(context_.options, pair.problem.collective)});
            if (context_.options.check) check(pair, arena);
            if (!pair.reason.empty()) {
                // wrong results are not worth timing
            } else if (pair.untuned()) {
                time_default(pair, arena);
            } else {
                for (std::uint64_t block = 0; block < blocks_per_visit && arena.alive(); ++block)
                    add_blocks(pair, arena);
            }
        } catch (const core::Error& error) {
            pair.reason = error.what();
        }
        pair.spent_ns += core::now_ns() - start;
        if (!pair.untuned()) pair.result = tuner::compare(pair.blocks, pair.floor_blocks, floor_limit(pair.problem));
    }

    static void check(Pair& pair, tuner::Arena& arena) {
        for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
            const tuner::CheckResult result = arena.check(side);
            if (result.outcome == tuner::CheckOutcome::ok) continue;
            pair.reason = std::string(side == 0 ? "the first side: " : "the second side: ") + result.message;
            return;
        }
    }

    // Pair and floor alternate, so that both see the same machine.
    void add_blocks(Pair& pair, tuner::Arena& arena) {
        add_block(pair, arena, 1, pair.blocks);
        if (arena.alive()) add_block(pair, arena, 0, pair.floor_blocks);
    }

    void add_block(Pair& pair, tuner::Arena& arena, std::size_t against, std::vector<tuner::Block>& into) {
        tuner::BlockOptions block;
        block.cache = cache_mode(context_.options);
        block.start = start_mode(context_.options, pair.problem.collective);
        into.push_back(tuner::paired_block(arena, 0, against, context_.machine.cuts, block));
        if (into.back().outcome == tuner::CheckOutcome::ok) return;
        if (++failures_[&pair] >= launch_attempts) pair.reason = into.back().message;
    }

    // Nothing to compare: one block says how long the default takes.
    void time_default(Pair& pair, tuner::Arena& arena) {
        add_block(pair, arena, 0, pair.floor_blocks);
        const tuner::Block& block = pair.floor_blocks.back();
        if (block.outcome != tuner::CheckOutcome::ok) return;
        pair.result = {};
        pair.result.placement = block.placement;
        pair.result.default_us = pair.result.tuned_us = block.a_median_ns / 1e3;
        pair.result.verdict = tuner::Verdict::same;
    }

    void report(const Pair& pair) {
        if (!context_.progress) return;
        double sum = 0;
        for (const Pair& each : pairs_)
            sum += progress_of(each);
        context_.progress(sum / static_cast<double>(pairs_.size()), label(pair));
    }

    double progress_of(const Pair& pair) const {
        if (settled(pair, context_.effort)) return 1;
        return std::min(0.9, static_cast<double>(kept(pair.blocks)) / static_cast<double>(context_.effort.blocks + 1));
    }

    const CompareContext& context_;
    std::vector<Pair>& pairs_;
    std::mt19937_64 random_;
    std::map<const Pair*, int> failures_;
    int visits_ = 0;
};

}  // namespace

double floor_limit(const collectives::Problem& problem) {
    return bytes_of(problem) >= large_bytes ? 0.05 : 0.10;
}

bool settled(const Pair& pair, const Effort& effort) {
    if (!pair.reason.empty() || pair.spent_ns >= effort.budget_ns) return true;
    if (pair.untuned()) return !pair.floor_blocks.empty() && pair.floor_blocks.back().outcome == tuner::CheckOutcome::ok;
    const bool enough = kept(pair.blocks) >= effort.blocks && kept(pair.floor_blocks) >= effort.blocks && launches(pair.blocks) >= effort.launches;
    return enough && pair.result.floor <= floor_limit(pair.problem);
}

void measure_pairs(const CompareContext& context, std::vector<Pair>& pairs) {
    Measurement(context, pairs).run();
}

Verdicts count_verdicts(const std::vector<Pair>& pairs) {
    Verdicts verdicts;
    for (const Pair& pair : pairs) {
        if (!pair.reason.empty()) {
            ++verdicts.failed;
            continue;
        }
        switch (pair.result.verdict) {
            case tuner::Verdict::faster:
                ++verdicts.faster;
                break;
            case tuner::Verdict::same:
                ++verdicts.same;
                break;
            case tuner::Verdict::slower:
                ++verdicts.slower;
                break;
            case tuner::Verdict::inconclusive:
                ++verdicts.inconclusive;
                break;
        }
    }
    verdicts.allowed_inconclusive = std::max<std::uint64_t>(1, pairs.size() / 10);
    return verdicts;
}

int exit_code(const Verdicts& verdicts, bool rows) noexcept {
    if (verdicts.slower != 0) return static_cast<int>(core::ErrorCode::check_failed);
    const bool undecided = rows && verdicts.inconclusive > verdicts.allowed_inconclusive;
    return verdicts.failed != 0 || undecided ? static_cast<int>(core::ErrorCode::failure) : 0;
}

}  // namespace attune::tools::bench
