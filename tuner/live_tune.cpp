#include "tuner/live_tune.hpp"

#include "libcore/error.hpp"
#include "libcore/samples.hpp"
#include "libcore/text.hpp"
#include "tuner/arena_factory.hpp"
#include "tuner/measure.hpp"
#include "tuner/space.hpp"
#include "tuner/strategy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <span>

namespace attune::tuner {

namespace {

using core::Config;

constexpr double confidence = 0.99;
constexpr std::size_t winner_blocks = 2;  // of a candidate in the search before it can win
constexpr std::size_t class_minimum = 5;  // blocks of one placement class that is judged by itself
constexpr std::size_t most_blocks = 60;   // of the proof
constexpr std::int64_t longest_block_ns = 20'000'000, shortest_block_ns = 1'000'000;

class Search {
public:
    Search(Arena& arena, const Work& work, core::Clock& clock, const LiveTuneOptions& options)
        : arena_(arena), work_(work), clock_(clock), options_(options), start_ns_(clock.now_ns()), seen_(work.configs.size()) {
        block_.target_ns = std::clamp(options.budget_ns / 200, shortest_block_ns, longest_block_ns);
    }

    LiveTuneResult run() {
        result_.baseline = result_.config = work_.configs.front();
        result_.candidates = work_.configs.size();
        arena_.load(work_);
        if (!checked(0)) throw core::Error(core::ErrorCode::failure, "the present configuration fails its check: " + message_);
        look();
        const auto [winner, gain] = best();
        result_.config = work_.configs[winner];
        if (winner == 0 || gain <= 1 + options_.minimum_gain) {
            result_.reason = winner == 0 && result_.measured == 0 ? "nothing could be measured within the budget" : "nothing measured was faster";
        } else {
            prove(winner);
        }
        result_.seconds = static_cast<double>(clock_.now_ns() - start_ns_) / 1e9;
        return result_;
    }

private:
    std::int64_t left_ns() const { return options_.budget_ns - (clock_.now_ns() - start_ns_); }

    bool checked(std::size_t candidate) {
        const CheckResult result = arena_.check(candidate);
        if (!arena_.alive())
            throw core::Error(core::ErrorCode::failure, fmt::format("the ranks failed with {}: {}", work_.configs[candidate].text(), result.message));
        message_ = result.message;
        return result.outcome == CheckOutcome::ok;
    }

    Block block(std::size_t candidate) {
        Block made = paired_block(arena_, 0, candidate, {}, block_);
        if (!arena_.alive())
            throw core::Error(core::ErrorCode::failure, fmt::format("the ranks failed with {}: {}", work_.configs[candidate].text(), made.message));
        return made;
    }

    void look() {
        StrategySpace space{.candidates = work_.configs.size(), .family = {}, .known_bad = {}, .seed = 1};
        std::map<std::string, std::size_t> families;
        for (const Config& config : work_.configs)
            space.family.push_back(families.emplace(config.algorithm(), families.size()).first->second);
        space.known_bad.resize(work_.configs.size());
        const std::unique_ptr<Strategy> strategy = make_strategy(strategy_names().front(), space);
        while (left_ns() > options_.budget_ns / 2) {
            const std::optional<std::size_t> next = strategy->ask();
            if (!next) return;
            strategy->tell(observe(*next));
        }
    }

    Observation observe(std::size_t candidate) {
        Observation observation{candidate, false, true, 0, {}};
        if (seen_[candidate].empty() && !checked(candidate)) return observation;
        const std::int64_t begin = clock_.now_ns();
        const Block made = block(candidate);
        block_cost_ns_ = std::max<std::int64_t>(block_cost_ns_, clock_.now_ns() - begin);
        observation = {candidate, made.outcome == CheckOutcome::ok, made.kept, made.ratio, made.placement};
        if (seen_[candidate].empty()) ++result_.measured;
        if (observation.usable && observation.kept) seen_[candidate].push_back(observation);
        return observation;
    }

    std::pair<std::size_t, double> best() const {
        std::pair<std::size_t, double> found{0, 1};
        for (std::size_t i = 1; i < seen_.size(); ++i) {
            if (seen_[i].size() < winner_blocks) continue;
            const double gain = worst_class_gain(seen_[i], winner_blocks).value_or(0);
            if (gain > found.second) found = {i, gain};
        }
        return found;
    }

    // The number of blocks is fixed before the first: stopping when it looks good would prove too much.
    void prove(std::size_t winner) {
        const auto affordable = static_cast<std::size_t>(std::max<std::int64_t>(left_ns(), 0) / (2 * std::max<std::int64_t>(block_cost_ns_, 1)));
        const std::size_t wanted = std::min(affordable, most_blocks);
        if (wanted < options_.minimum_blocks) {
            result_.reason = fmt::format("the budget has room for {} blocks of proof, {} are needed; give more time", wanted, options_.minimum_blocks);
            return;
        }
        std::vector<Block> of_winner, of_baseline;
        for (std::size_t i = 0; i < wanted; ++i) {
            of_baseline.push_back(block(0));
            of_winner.push_back(block(winner));
        }
        judge(of_winner, of_baseline);
    }

    void judge(const std::vector<Block>& of_winner, const std::vector<Block>& of_baseline) {
        std::map<std::string, std::vector<double>> classes;
        std::vector<double> gains;
        for (const Block& made : of_winner) {
            if (!made.kept) continue;
            gains.push_back(made.ratio);
            classes[made.placement].push_back(made.ratio);
        }
        result_.blocks = gains.size();
        result_.floor = noise_floor(of_baseline);
        if (gains.size() < options_.minimum_blocks) {
            result_.reason = fmt::format("only {} of {} blocks were kept: the cores moved too often", gains.size(), of_winner.size());
            return;
        }
        const core::MedianInterval interval = core::median_interval(gains, confidence);
        result_.gain = interval.median, result_.low = interval.low, result_.high = interval.high;
        const double needed = 1 + std::max(result_.floor, options_.minimum_gain);
        const double p = core::sign_test_above(gains, needed);
        if (p > options_.significance) {
            result_.reason = fmt::format("a gain above {:.2f} is not proven (measured {:.2f}, p = {:.2g})", needed, interval.median, p);
            return;
        }
        for (const auto& [placement, ratios] : classes) {
            if (ratios.size() >= class_minimum && core::median(ratios) < 1 - result_.floor) {
                result_.reason = fmt::format("slower in the placement class {}", placement);
                return;
            }
        }
        result_.proven = true;
    }

    Arena& arena_;
    const Work& work_;
    core::Clock& clock_;
    const LiveTuneOptions& options_;
    std::int64_t start_ns_;
    BlockOptions block_;
    std::vector<std::vector<Observation>> seen_;  // kept blocks of the search
    std::int64_t block_cost_ns_ = 0;              // the longest
    std::string message_;
    LiveTuneResult result_;
};

// One value per line; texts are single lines.
std::string serialize(const LiveTuneResult& r) {
    return fmt::format("{}\n{}\n{:d}\n{} {} {} {}\n{} {} {}\n{}\n{}", r.config.text(), r.baseline.text(), r.proven, r.gain, r.low, r.high, r.floor,
                       r.candidates, r.measured, r.blocks, r.seconds, r.reason);
}

double number(const std::string& text) {
    return std::stod(text);
}

LiveTuneResult parse(std::string_view text) {
    const std::vector<std::string> lines = core::split(text, '\n');
    if (lines.size() < 7) throw core::Error(core::ErrorCode::failure, "rank 0 sent no result of tuning; do all ranks run the same version?");
    LiveTuneResult result;
    result.config = Config::parse(lines[0]);
    result.baseline = Config::parse(lines[1]);
    result.proven = lines[2] == "1";
    const std::vector<std::string> gains = core::split(lines[3], ' '), counts = core::split(lines[4], ' ');
    result.gain = number(gains.at(0)), result.low = number(gains.at(1)), result.high = number(gains.at(2)), result.floor = number(gains.at(3));
    result.candidates = std::stoull(counts.at(0)), result.measured = std::stoull(counts.at(1)), result.blocks = std::stoull(counts.at(2));
    result.seconds = number(lines[5]);
    result.reason = lines[6];
    return result;
}

// Every rank says how it went; the first that failed speaks for all. Rank 0's text is the result.
std::string agree(collectives::Bootstrap& bootstrap, const std::string& failure, const std::string& result) {
    const std::string own = failure.empty() ? "=" + result : "!" + failure;
    std::string agreed;
    for (const collectives::Contribution& contribution : bootstrap.all_gather(std::as_bytes(std::span(own)), {})) {
        const std::string_view text(reinterpret_cast<const char*>(contribution.bytes.data()), contribution.bytes.size());
        if (text.starts_with('!')) throw core::Error(core::ErrorCode::failure, "tuning failed: " + std::string(text.substr(1)));
        if (agreed.empty()) agreed = text.substr(1);
    }
    return agreed;
}

}  // namespace

LiveTuneResult search_and_prove(Arena& arena, const Work& work, core::Clock& clock, const LiveTuneOptions& options) {
    return Search(arena, work, clock, options).run();
}

LiveTuneResult tune_live(collectives::Communicator& team, const collectives::Problem& problem, const LiveTuneOptions& options) {
    const collectives::Problem whole = team.complete(problem);
    const collectives::Choice present = team.choice(whole);
    LiveTuneResult result;
    result.config = result.baseline = present.config;
    if (present.source == collectives::ChoiceSource::forced) result.reason = "the configuration is forced (ATTUNE_FORCE)";
    if (team.size() == 1) result.reason = "one rank has nothing to tune";
    if (!result.reason.empty()) return result;
    std::string text, failure;
    const std::unique_ptr<collectives::Bootstrap> bootstrap = team.make_bootstrap();
    const std::unique_ptr<collectives::Communicator> copy = team.dup();
    try {
        run_on_team(*copy, [&](Arena& arena) {
            const SpaceOptions space{team.chooser().facts().topology, copy->transport().oversubscribed()};
            core::MonotonicClock clock;
            text = serialize(search_and_prove(arena, {whole, enumerate_space(whole, present.config, space)}, clock, options));
            return 0;
        });
    } catch (const core::Error& error) {
        failure = error.what();
    }
    result = parse(agree(*bootstrap, failure, text));
    if (result.proven) team.apply(whole, result.config, result.gain);
    return result;
}

}  // namespace attune::tuner
