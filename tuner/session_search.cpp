// The choice of a winner: best worst class, and better than the floor blocks' own spread; proof comes later, on other samples.
#include "tuner/session_search.hpp"

#include "libcore/samples.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace attune::tuner {
namespace {

using core::Config;

constexpr double smallest_gain = 0.02;  // rows below it are never published
constexpr std::size_t first_floor_blocks = 2;
constexpr std::size_t floor_every = 10;   // one more floor block for so many search blocks
constexpr std::size_t winner_blocks = 2;  // kept ones, of a winner

class Search {
public:
    explicit Search(const SessionTools& tools) : options_(tools.options), parts_(tools.parts), log_(tools.log), runner_(tools.runner) {}

    SearchOutcome run(const collectives::Problem& problem, const SearchHooks& hooks) {
        configs_ = parts_.target.candidates(problem);
        seen_.resize(configs_.size());
        runner_.load(problem, configs_);
        make_strategy_();
        replay();
        loop(hooks);
        return outcome(problem);
    }

private:
    void make_strategy_() {
        StrategySpace space{.candidates = configs_.size(), .family = {}, .known_bad = {}, .seed = options_.seed};
        std::map<std::string, std::size_t> families;
        for (std::size_t i = 0; i < configs_.size(); ++i) {
            space.family.push_back(families.emplace(configs_[i].algorithm(), families.size()).first->second);
            bad_.push_back(i > 0 && log_.known_bad(runner_.place(), configs_[i], runner_.algorithm_version(i)));
        }
        space.known_bad = bad_;
        strategy_ = make_strategy(options_.strategy, space);
    }

    void take(const Observation& observation) {
        strategy_->tell(observation);
        ++blocks_;
        if (!observation.usable) bad_[observation.candidate] = true;
        auto& own = seen_[observation.candidate];
        if (observation.usable && observation.kept) own.push_back(observation);
    }

    void take_floor(const Observation& observation) {
        ++floor_blocks_;
        if (observation.kept) floor_.push_back(std::abs(observation.gain - 1));
    }

    void replay() {
        const Replay& replay = log_.replay(runner_.place());
        for (const auto& trial : replay.floor) {
            take_floor(observation_of(trial, 0));
            expect_like(trial);
        }
        for (const auto& trial : replay.search) {
            const auto found = std::ranges::find(configs_, trial.config);
            if (found == configs_.end()) continue;
            take(observation_of(trial, static_cast<std::size_t>(found - configs_.begin())));
            expect_like(trial);
        }
    }

    // A replayed block cost about its samples and a commit: what the re-test's plan needs to know.
    void expect_like(const db::Trial& trial) {
        constexpr double commit_ns = 2e6;
        double ns = 0;
        for (const auto* samples : {&trial.default_ns, &trial.config_ns})
            ns = std::accumulate(samples->begin(), samples->end(), ns);
        walls_ns_.push_back(ns * static_cast<double>(trial.batch) + commit_ns);
    }

    bool stop(const SearchHooks& hooks) const {
        return runner_.hopeless() || parts_.clock.now_ns() >= hooks.deadline_ns || (parts_.interrupted && parts_.interrupted());
    }

    void loop(const SearchHooks& hooks) {
        while (!stop(hooks)) {
            const bool floor_due = floor_blocks_ < first_floor_blocks + blocks_ / floor_every;
            const auto next = floor_due ? std::optional<std::size_t>(0) : strategy_->ask();
            if (!next) break;
            const auto observation = runner_.block(*next, floor_due ? "floor" : "search");
            if (!observation) break;
            walls_ns_.push_back(static_cast<double>(runner_.last_block_ns()));
            floor_due ? take_floor(*observation) : take(*observation);
            if (hooks.report) hooks.report(tried(), configs_.size(), best().second);
        }
        if (strategy_->complete() && !runner_.hopeless()) log_.note_complete(runner_.place());
    }

    std::size_t tried() const {
        std::size_t count = 0;
        for (std::size_t i = 1; i < configs_.size(); ++i)
            count += bad_[i] || !seen_[i].empty() ? 1 : 0;
        return count;
    }

    std::pair<std::size_t, double> best() const {
        std::pair<std::size_t, double> result{0, 1};
        for (std::size_t i = 1; i < configs_.size(); ++i) {
            if (bad_[i] || seen_[i].size() < winner_blocks) continue;
            const double gain = worst_class_gain(seen_[i], winner_blocks).value_or(0);
            if (gain > result.second) result = {i, gain};
        }
        return result;
    }

    SearchOutcome outcome(const collectives::Problem& problem) const {
        SearchOutcome result;
        const auto [index, gain] = best();
        result.problem = problem;
        result.default_config = configs_.front();
        result.winner = configs_[index];
        result.gain = gain;
        const double spread = floor_.empty() ? 0 : core::median(floor_);
        result.promising = index != 0 && gain > 1 + std::max(smallest_gain, spread) && !runner_.hopeless();
        result.complete = strategy_->complete();
        result.measured = tried() > 0 || (configs_.size() == 1 && floor_blocks_ > 0);
        result.block_ns = walls_ns_.empty() ? 0 : static_cast<std::int64_t>(core::median(walls_ns_));
        return result;
    }

    const SessionOptions& options_;
    const SessionParts& parts_;
    SessionLog& log_;
    TrialRunner& runner_;
    std::vector<Config> configs_;
    std::unique_ptr<Strategy> strategy_;
    std::vector<std::vector<Observation>> seen_;  // kept blocks per candidate
    std::vector<bool> bad_;
    std::vector<double> floor_;  // |ratio - 1| of kept floor blocks
    std::size_t blocks_ = 0, floor_blocks_ = 0;
    std::vector<double> walls_ns_;
};

}  // namespace

SearchOutcome search_problem(const SessionTools& tools, const collectives::Problem& problem, const SearchHooks& hooks) {
    return Search(tools).run(problem, hooks);
}

}  // namespace attune::tuner
