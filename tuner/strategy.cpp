// Exhaustive search: screen everything once, coarse before fine, then look longer at the leaders.
#include "tuner/strategy.hpp"

#include "libcore/samples.hpp"
#include "libcore/text.hpp"

#include <algorithm>
#include <map>

namespace attune::tuner {
namespace {

// Screening: one block each, one member of every family first, then family by family, the best first. Then the leaders, those within
// `leader_band` of the best, get further blocks until each has `leader_blocks`.
class Exhaustive final : public Strategy {
public:
    explicit Exhaustive(const StrategySpace& space) : space_(space), seen_(space.candidates) {
        space_.family.resize(space.candidates, 0);
        space_.known_bad.resize(space.candidates, false);
    }

    std::optional<std::size_t> ask() override {
        if (const auto next = unscreened()) return next;
        return leader();
    }

    void tell(const Observation& observation) override {
        auto& arm = seen_.at(observation.candidate);
        if (!observation.usable) space_.known_bad[observation.candidate] = true;
        if (observation.usable && observation.kept) arm.kept.push_back(observation);
        ++arm.blocks;
    }

    bool complete() const override {
        for (std::size_t i = 1; i < space_.candidates; ++i)
            if (open(i)) return false;
        return true;
    }

private:
    struct Arm {
        std::vector<Observation> kept;
        std::size_t blocks = 0;
    };
    static constexpr double leader_band = 0.8;
    static constexpr std::size_t leader_blocks = 6;
    static constexpr std::size_t leader_limit = 4;
    static constexpr std::size_t screening_attempts = 3;  // blocks dropped by a change of placement are repeated, but not for ever

    bool open(std::size_t i) const { return !space_.known_bad[i] && seen_[i].kept.empty() && seen_[i].blocks < screening_attempts; }

    double score(std::size_t i) const {
        if (i == 0) return 1;
        if (space_.known_bad[i]) return 0;
        return worst_class_gain(seen_[i].kept, 2).value_or(0);
    }

    // Best gain seen in the candidate's family; a family without any block counts as infinite, so every family is met once first.
    double promise(std::size_t i) const {
        double best = -1;
        for (std::size_t j = 1; j < space_.candidates; ++j) {
            if (space_.family[j] != space_.family[i]) continue;
            if (seen_[j].blocks > 0 || space_.known_bad[j]) best = std::max(best, score(j));
        }
        return best < 0 ? 1e300 : best;
    }

    std::optional<std::size_t> unscreened() const {
        std::optional<std::size_t> best;
        double best_promise = -1;
        for (std::size_t i = 1; i < space_.candidates; ++i) {
            if (!open(i)) continue;
            const double value = promise(i);
            if (value > best_promise) best = i, best_promise = value;
        }
        return best;
    }

    std::optional<std::size_t> leader() const {
        std::vector<std::size_t> order;
        for (std::size_t i = 1; i < space_.candidates; ++i)
            if (!space_.known_bad[i] && !seen_[i].kept.empty()) order.push_back(i);
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return score(a) > score(b); });
        if (order.empty()) return std::nullopt;
        const double bar = leader_band * std::max(1.0, score(order.front()));
        order.resize(std::min(order.size(), leader_limit));
        std::optional<std::size_t> next;
        for (const auto i : order)
            if (score(i) >= bar && seen_[i].blocks < leader_blocks && (!next || seen_[i].blocks < seen_[*next].blocks)) next = i;
        return next;
    }

    StrategySpace space_;
    std::vector<Arm> seen_;
};

}  // namespace

std::span<const std::string> strategy_names() {
    static const std::vector<std::string> names{"exhaustive"};
    return names;
}

std::unique_ptr<Strategy> make_strategy(std::string_view name, const StrategySpace& space) {
    core::require_word("strategy", name, strategy_names());
    return std::make_unique<Exhaustive>(space);
}

std::optional<double> worst_class_gain(std::span<const Observation> observations, std::size_t minimum_blocks) {
    std::map<std::string, std::vector<double>> classes;
    std::vector<double> all;
    for (const auto& observation : observations) {
        if (!observation.usable || !observation.kept) continue;
        classes[observation.placement].push_back(observation.gain);
        all.push_back(observation.gain);
    }
    if (all.empty()) return std::nullopt;
    std::optional<double> worst;
    for (const auto& [name, gains] : classes) {
        if (gains.size() < minimum_blocks) continue;
        const double gain = core::median(gains);
        if (!worst || gain < *worst) worst = gain;
    }
    return worst ? worst : core::median(all);
}

}  // namespace attune::tuner
