// The order of work and the budget: survey, search, 30 % for the re-test, 2 s for publishing.
#include "tuner/session.hpp"

#include "collectives/catalogue.hpp"
#include "db/release.hpp"
#include "db/file_system.hpp"
#include "libcore/error.hpp"
#include "libcore/file.hpp"
#include "tuner/ladder.hpp"
#include "tuner/session_confirm.hpp"
#include "tuner/session_search.hpp"
#include "tuner/survey.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace attune::tuner {
namespace {

constexpr double confirm_share = 0.3;
constexpr std::int64_t publish_ns = 2'000'000'000;
constexpr std::int64_t survey_limit_ns = 10'000'000'000;

class Session {
public:
    Session(const SessionOptions& options, const SessionParts& parts) : options_(options), parts_(parts), log_(options, parts), runner_(options, parts, log_) {}

    SessionResult run() {
        result_.run = log_.run();
        result_.budget_ns = log_.budget_ns();
        result_.searched.resize(options_.problems.size(), false);
        result_.resumed = log_.resumed();
        result_.already_complete = log_.already_complete();
        if (!result_.already_complete) {
            place_cuts();
            auto items = options_.recheck.empty() ? search() : recheck_items();
            retest(std::move(items));
        } else {
            recall_search();
        }
        conclude();
        return result_;
    }

private:
    bool interrupted() const { return parts_.interrupted && parts_.interrupted(); }
    std::int64_t deadline_in(std::int64_t left_ns) const { return parts_.clock.now_ns() + left_ns; }
    std::int64_t publish_reserve() const { return std::min(publish_ns, log_.budget_ns() / 10); }
    std::int64_t confirm_reserve() const { return static_cast<std::int64_t>(confirm_share * static_cast<double>(log_.budget_ns())); }

    void report(Progress progress) {
        if (!parts_.progress) return;
        progress.spent_ns = log_.spent_ns();
        progress.budget_ns = log_.budget_ns();
        progress.trials = log_.trials();
        parts_.progress(progress);
    }

    // The cuts of this machine: from the journal, else from a survey. More ranks than CPUs have one class, which needs none.
    void place_cuts() {
        if (auto stored = parts_.journal.cuts()) return runner_.set_cuts({std::move(stored->upper_ns)});
        if (runner_.arena().oversubscribed() || options_.team.ranks < 2) return;
        report({.phase = Phase::survey, .label = "how far apart the cores are"});
        SurveyOptions survey_options;
        survey_options.limit_ns = std::clamp<std::int64_t>(log_.budget_ns() / 10, 0, survey_limit_ns);
        survey_options.pause = options_.pause;
        survey_options.interrupted = parts_.interrupted;
        const auto cuts = profiler::find_cuts(survey(runner_.arena(), parts_.clock, survey_options));
        if (interrupted()) return;  // half a survey is not kept
        parts_.journal.store_cuts({cut_set_id(cuts), cuts.upper_ns});
        runner_.set_cuts(cuts);
    }

    // Each problem gets an equal share of what is left, so time that small sizes do not need goes to the large ones.
    std::vector<ConfirmItem> search() {
        std::vector<ConfirmItem> items;
        const auto& problems = options_.problems;
        // Once the re-test began, the winners are fixed: a longer search would choose on other grounds than the samples in hand.
        const bool closed = log_.confirm_plan().has_value();
        for (std::size_t i = 0; i < problems.size() && !interrupted(); ++i) {
            const std::int64_t left = log_.left_ns() - confirm_reserve() - publish_reserve();
            const std::int64_t share = closed || left <= 0 ? 0 : left / static_cast<std::int64_t>(problems.size() - i);
            Progress progress{.phase = Phase::search, .problem = i + 1, .problems = problems.size(), .label = label_of(problems[i])};
            SearchHooks hooks{.deadline_ns = deadline_in(share), .report = {}};
            hooks.report = [&](std::size_t tried, std::size_t candidates, double gain) {
                progress.candidate = tried, progress.candidates = candidates, progress.best_gain = gain;
                report(progress);
            };
            const auto found = search_problem(tools_, problems[i], hooks);
            result_.searched[i] = found.measured;
            if (runner_.hopeless()) result_.notes.push_back(label_of(problems[i]) + ": the default itself failed, not tuned");
            if (found.promising) items.push_back({problems[i], found.default_config, found.winner, found.gain, found.block_ns, false});
        }
        return items;
    }

    // What a complete run searched, from its trials.
    void recall_search() {
        for (std::size_t i = 0; i < options_.problems.size(); ++i) {
            const auto& replay = log_.replay({runner_.key_of(options_.problems[i]).text(), options_.problems[i].bytes()});
            result_.searched[i] = !replay.search.empty() || !replay.confirm.empty();
        }
    }

    // Rows of a release as items: both ends of an interval, and its inner sizes.
    std::vector<ConfirmItem> recheck_items() {
        std::vector<ConfirmItem> items;
        for (const auto& row : options_.recheck) {
            const auto low = problem_of_key(row.row.key, row.row.low_bytes);
            const auto high = problem_of_key(row.row.key, row.row.high_bytes);
            if (!low || !high) {
                result_.notes.push_back("not re-tested: " + row.row.key.text() + " is no problem this build knows");
                continue;
            }
            std::vector<ConfirmItem> ends;
            add_recheck(ends, row.row, *low);
            if (low->count != high->count) add_recheck(ends, row.row, *high);
            auto probes = probes_between(ends, {*low, *high}, parts_.target);
            std::ranges::move(ends, std::back_inserter(items));
            std::ranges::move(probes, std::back_inserter(items));
        }
        return items;
    }

    // Both arms for about the target, at least twice each, with checks and the commit.
    std::int64_t expected_block_ns(const core::TableRow& row) const {
        constexpr std::int64_t commit_ns = 2'000'000;
        return options_.block.target_ns * 3 / 2 + static_cast<std::int64_t>(2 * (row.default_ns + row.best_ns)) + commit_ns;
    }

    void add_recheck(std::vector<ConfirmItem>& items, const core::TableRow& row, const collectives::Problem& problem) {
        if (const auto why = collectives::reject(problem, row.config)) {
            result_.notes.push_back("not re-tested: " + label_of(problem) + " " + row.config.text() + ": " + *why);
            return;
        }
        items.push_back({problem, parts_.target.default_of(problem), row.config, row.gain, expected_block_ns(row), false});
    }

    void retest(std::vector<ConfirmItem> items) {
        if (interrupted() || items.empty()) return;
        if (options_.recheck.empty())
            for (auto& probe : probes_between(items, options_.problems, parts_.target))
                items.push_back(std::move(probe));
        add_last_roots(items, parts_.target);
        const std::size_t sizes = sizes_in(items);
        const std::int64_t left = log_.left_ns() - publish_reserve();
        const auto plan = make_plan(std::move(items), left);
        if (plan.dropped > 0)
            result_.notes.push_back(
                fmt::format("no time to re-test {} of {} promising sizes, for which nothing is proven yet; a larger --budget helps", plan.dropped, sizes));
        ConfirmHooks hooks;
        hooks.deadline_ns = deadline_in(left);
        if (!options_.recheck.empty()) hooks.phase = "recheck";
        hooks.report = [&](std::size_t index, const ConfirmItem& item) {
            report({.phase = Phase::confirm, .problem = index + 1, .problems = plan.items.size(), .label = label_of(item.problem), .best_gain = item.gain});
        };
        if (!confirm(plan, tools_, hooks) && !interrupted())
            result_.notes.push_back("the budget ended before every re-test was done; what lacks blocks is not published");
    }

    ConfirmPlan make_plan(std::vector<ConfirmItem> items, std::int64_t left_ns) {
        if (const auto stored = log_.confirm_plan()) return restore_plan(std::move(items), *stored);
        auto plan = plan_confirm(std::move(items), left_ns);
        log_.save_confirm_plan(text_of(plan));
        return plan;
    }

    void conclude() {
        result_.interrupted = interrupted() && !result_.already_complete;
        for (const auto& problem : options_.problems)
            result_.keys.push_back(runner_.key_of(problem));
        log_.save_spent();
        runner_.relaunch();  // the team ends before the disk work
        result_.trials = log_.trials();
        result_.replayed = log_.replayed();
        result_.failures = log_.failures();
        result_.spent_ns = log_.spent_ns();
        if (result_.interrupted) return;
        auto options = publish_options(parts_.journal, [this](const collectives::Problem& problem) { return parts_.target.default_of(problem); });
        if (!options_.recheck.empty()) options.run = log_.run();  // what it republishes held in this re-test
        result_.selection = select_rows(parts_.journal.trials(parts_.identity), parts_.identity, options);
        carry_search();
        if (options_.publish && !released_here()) publish();
        result_.released_at = log_.released_at();
        if (result_.already_complete) return;
        log_.finish();
        result_.spent_ns = log_.spent_ns();
    }

    // A re-test searches nothing: how thorough the search was is known from the row it tested.
    void carry_search() {
        for (auto& row : result_.selection.rows)
            for (const auto& old : options_.recheck)
                if (row.evidence.candidates == 0 && old.row.key.covers(row.row.key) && old.row.config == row.row.config &&
                    old.row.low_bytes <= row.row.low_bytes && row.row.high_bytes <= old.row.high_bytes)
                    row.evidence.candidates = old.evidence.candidates, row.evidence.complete = old.evidence.complete;
    }

    // Published by an earlier session of this run, and still there.
    bool released_here() const { return result_.already_complete && log_.released_at() == release_ && core::file_exists(release_); }

    void note_kept(const db::ReleaseContent& content) {
        const auto kept = std::ranges::count_if(options_.recheck, [&](const db::ReleaseRow& old) {
            return std::ranges::any_of(content.rows, [&](const db::ReleaseRow& row) { return !row.id.empty() && row.id == old.id; });
        });
        if (kept > 0) result_.notes.push_back(fmt::format("{} rows not re-tested, kept as they were; a larger --budget helps", kept));
    }

    void publish() {
        report({.phase = Phase::publish, .label = options_.release_path});
        auto content = release_content(parts_.journal, parts_.identity, result_.selection);
        content.context = options_.context;
        content.tool_version = options_.tool_version;
        const auto merge = [&](db::ReleaseContent& all, const db::ReleaseContent& existing) {
            keep_untested_rows(all, existing, result_.selection);
            note_kept(all);
        };
        for (auto& notice : db::write_release(options_.release_path, std::move(content), merge))
            result_.notes.push_back(std::move(notice));
        result_.published = true;
        log_.save_release(release_);
    }

    const SessionOptions& options_;
    const SessionParts& parts_;
    // A run may be resumed from another folder, or with another spelling.
    const std::string release_ = options_.release_path.empty() ? "" : db::absolute_path(options_.release_path);
    SessionLog log_;
    TrialRunner runner_;
    SessionTools tools_{options_, parts_, log_, runner_};
    SessionResult result_;
};

}  // namespace

std::string_view name_of(Phase phase) noexcept {
    static constexpr std::array<std::string_view, 4> names{"survey", "search", "re-test", "publish"};
    return names[static_cast<std::size_t>(phase)];
}

SessionResult run_session(const SessionOptions& options, const SessionParts& parts) {
    return Session(options, parts).run();
}

}  // namespace attune::tuner
