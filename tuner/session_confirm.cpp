// Floor and candidate blocks alternate within a visit, so the floor is measured under the candidate's conditions.
#include "tuner/session_confirm.hpp"

#include "collectives/catalogue.hpp"
#include "libcore/text.hpp"
#include "tuner/intervals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>

namespace attune::tuner {
namespace {

constexpr std::int64_t unknown_block_ns = 60'000'000;
constexpr std::int64_t launch_ns = 400'000'000;  // starting and ending a team
constexpr std::size_t further_launches = 3;
constexpr double usable_share = 0.9;  // of the time; the rest absorbs dropped blocks

std::int64_t visit_ns(const ConfirmItem& item, std::size_t blocks) {
    const std::int64_t block = item.block_ns > 0 ? item.block_ns : unknown_block_ns;
    return block * static_cast<std::int64_t>(2 * blocks + 3);  // both kinds, and load and checks as three more
}

double promise(const ConfirmItem& item) {
    return std::log(std::max(item.gain, 1.0)) / static_cast<double>(visit_ns(item, 5));
}

std::int64_t total_ns(const std::vector<ConfirmItem>& items, std::size_t launches, std::size_t blocks) {
    std::int64_t sum = launch_ns;
    for (const auto& item : items)
        sum += visit_ns(item, blocks);
    return sum * static_cast<std::int64_t>(launches);
}

// What an item has so far.
struct Account {
    std::size_t kept = 0, floor_kept = 0;
    std::set<std::string> launches;  // with a kept block of the candidate
    bool failed = false;
    bool done(std::size_t blocks, std::size_t minimum_launches) const {
        return failed || (kept >= blocks && floor_kept >= blocks && launches.size() >= minimum_launches);
    }
};

class Confirm {
public:
    Confirm(const ConfirmPlan& plan, const SessionTools& tools, const ConfirmHooks& hooks)
        : plan_(plan), parts_(tools.parts), log_(tools.log), runner_(tools.runner), hooks_(hooks), accounts_(plan.items.size()) {}

    bool run() {
        for (std::size_t i = 0; i < plan_.items.size(); ++i)
            replay(i);
        for (std::size_t launch = 0; launch < plan_.launches + further_launches; ++launch) {
            if (finished() || stop()) break;
            runner_.relaunch();
            for (std::size_t i = 0; i < plan_.items.size() && !stop(); ++i)
                visit(i);
        }
        return finished();
    }

private:
    bool done(std::size_t i) const { return accounts_[i].done(plan_.total(), plan_.launches); }
    bool finished() const {
        for (std::size_t i = 0; i < plan_.items.size(); ++i)
            if (!done(i)) return false;
        return true;
    }
    bool stop() const { return parts_.clock.now_ns() >= hooks_.deadline_ns || (parts_.interrupted && parts_.interrupted()); }

    void replay(std::size_t i) {
        const auto& item = plan_.items[i];
        const Place place{runner_.key_of(item.problem).text(), item.problem.bytes()};
        for (const auto& trial : log_.replay(place).confirm) {
            if (trial.phase == "floor") {
                if (trial.outcome == db::Outcome::ok) ++accounts_[i].floor_kept;
            } else if (trial.config == item.config) {
                take(i, observation_of(trial, 1), trial.launch);
            }
        }
    }

    void take(std::size_t i, const Observation& observation, const std::string& launch) {
        auto& account = accounts_[i];
        if (!observation.usable) account.failed = true;
        if (!observation.usable || !observation.kept) return;
        ++account.kept;
        account.launches.insert(launch);
    }

    // floor, candidate, candidate, floor, ... until this launch's share of both is done; a kind that has all its blocks is left out.
    void visit(std::size_t i) {
        if (done(i)) return;
        const auto& item = plan_.items[i];
        runner_.load(item.problem, {item.default_config, item.config});
        for (std::size_t step = 0; step < 2 * plan_.blocks && !stop() && !done(i); ++step) {
            const bool floor = step % 4 == 0 || step % 4 == 3;
            const bool enough = (floor ? accounts_[i].floor_kept : accounts_[i].kept) >= plan_.total();
            if (!enough && !block(i, floor)) return;
        }
    }

    bool block(std::size_t i, bool floor) {
        const auto observation = runner_.block(floor ? 0 : 1, floor ? "floor" : hooks_.phase);
        if (!observation) return false;
        if (hooks_.report) hooks_.report(i, plan_.items[i]);
        if (!floor)
            take(i, *observation, runner_.last_launch());
        else if (observation->kept)
            ++accounts_[i].floor_kept;
        if (runner_.hopeless()) accounts_[i].failed = true;
        return !accounts_[i].failed;
    }

    const ConfirmPlan& plan_;
    const SessionParts& parts_;
    SessionLog& log_;
    TrialRunner& runner_;
    const ConfirmHooks& hooks_;
    std::vector<Account> accounts_;
};

std::string name_of(const ConfirmItem& item) {
    return fmt::format("{} {} root {} {}", collectives::name_of(item.problem.collective), item.problem.count, item.problem.root, item.config.text());
}

std::optional<collectives::Problem> next_size(const std::vector<collectives::Problem>& ladder, const collectives::Problem& problem) {
    std::optional<collectives::Problem> next;
    for (const auto& other : ladder) {
        if (other.collective != problem.collective || other.count <= problem.count) continue;
        if (!next || other.count < next->count) next = other;
    }
    return next;
}

}  // namespace

void add_last_roots(std::vector<ConfirmItem>& items, Target& target) {
    const std::size_t count = items.size();
    for (std::size_t i = 0; i < count; ++i) {
        ConfirmItem item = items[i];
        if (!collectives::is_rooted(item.problem.collective) || item.problem.root != 0 || item.problem.ranks < 2) continue;
        item.problem.root = item.problem.ranks - 1;
        if (collectives::reject(item.problem, item.config)) continue;
        item.default_config = target.default_of(item.problem);
        items.push_back(std::move(item));
    }
}

std::size_t sizes_in(const std::vector<ConfirmItem>& items) {
    std::vector<collectives::Problem> sizes;
    for (const auto& item : items) {
        collectives::Problem problem = item.problem;
        problem.root = 0;
        if (std::ranges::find(sizes, problem) == sizes.end()) sizes.push_back(problem);
    }
    return sizes.size();
}

std::string text_of(const ConfirmPlan& plan) {
    std::string text = fmt::format("{} {}", plan.launches, plan.blocks);
    for (const auto& item : plan.items)
        text += "\n" + name_of(item);
    return text;
}

ConfirmPlan restore_plan(std::vector<ConfirmItem> items, const std::string& text) {
    const auto lines = core::split(text, '\n');
    ConfirmPlan plan;
    const auto numbers = core::split(lines.empty() ? "" : lines.front(), ' ');
    if (numbers.size() == 2) plan.launches = std::stoul(numbers[0]), plan.blocks = std::stoul(numbers[1]);
    for (auto& item : items)
        if (std::ranges::find(lines, name_of(item)) != lines.end()) plan.items.push_back(std::move(item));
    return plan;
}

ConfirmPlan plan_confirm(std::vector<ConfirmItem> items, std::int64_t time_ns) {
    const auto usable = static_cast<std::int64_t>(usable_share * static_cast<double>(time_ns));
    ConfirmPlan plan;
    // Most promise for its time first, real sizes before probes: what is at the end goes first when time is short.
    std::vector<std::size_t> order(items.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(
        order, [&](std::size_t a, std::size_t b) { return std::pair(items[a].probe, -promise(items[a])) < std::pair(items[b].probe, -promise(items[b])); });
    std::set<std::size_t> kept;
    std::int64_t sum = launch_ns * 3;
    for (const auto index : order) {
        const std::int64_t cost = 3 * visit_ns(items[index], plan.blocks);
        if (sum + cost > usable) continue;
        sum += cost;
        kept.insert(index);
    }
    std::vector<ConfirmItem> dropped;
    for (std::size_t i = 0; i < items.size(); ++i)
        if (!kept.contains(i)) dropped.push_back(items[i]);
    plan.dropped = sizes_in(dropped);
    for (const auto index : kept)
        plan.items.push_back(std::move(items[index]));
    constexpr std::array<std::pair<std::size_t, std::size_t>, 4> richer{{{4, 5}, {5, 5}, {5, 6}, {5, 8}}};
    for (const auto& [launches, blocks] : richer)
        if (total_ns(plan.items, launches, blocks) <= usable) plan.launches = launches, plan.blocks = blocks;
    return plan;
}

std::vector<ConfirmItem> probes_between(const std::vector<ConfirmItem>& items, const std::vector<collectives::Problem>& ladder, Target& target) {
    std::vector<ConfirmItem> result;
    for (const auto& low : items) {
        const auto next = next_size(ladder, low.problem);
        const auto high = std::ranges::find_if(items, [&](const auto& item) { return next && item.problem == *next; });
        if (high == items.end() || !(high->config == low.config) || !(high->default_config == low.default_config)) continue;
        for (const auto count : probe_counts(low.problem.count, high->problem.count)) {
            ConfirmItem probe = low;
            probe.problem.count = count;
            probe.probe = true;
            probe.block_ns = std::max(low.block_ns, high->block_ns);
            if (collectives::reject(probe.problem, probe.config)) continue;
            probe.default_config = target.default_of(probe.problem);
            if (probe.default_config == low.default_config) result.push_back(std::move(probe));
        }
    }
    return result;
}

bool confirm(const ConfirmPlan& plan, const SessionTools& tools, const ConfirmHooks& hooks) {
    return Confirm(plan, tools, hooks).run();
}

}  // namespace attune::tuner
