// The run's side of the journal: its id, what it spent, and its earlier trials for replay.
#pragma once

#include "tuner/session.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace attune::tuner {

using Place = std::pair<std::string, std::uint64_t>;  // key text, bytes

// Trials of one problem in this run, in the order they were recorded.
struct Replay {
    std::vector<db::Trial> floor, search, confirm;  // floor: those of search launches; confirm: re-tests and the floor of their launches
};

class SessionLog {
public:
    // Starts a new run, or with options.resume continues the last one of the same identity.
    SessionLog(const SessionOptions& options, const SessionParts& parts);

    const std::string& run() const noexcept { return run_; }
    bool resumed() const noexcept { return resumed_; }
    bool already_complete() const noexcept { return already_complete_; }
    std::uint64_t trials() const noexcept { return trials_; }
    std::uint64_t replayed() const noexcept { return replayed_; }
    const std::vector<Failure>& failures() const noexcept { return failures_; }

    // Of the whole run, earlier sessions included unless a new budget was given.
    std::int64_t spent_ns() const;
    std::int64_t budget_ns() const noexcept { return budget_ns_; }
    std::int64_t left_ns() const { return budget_ns_ - spent_ns(); }

    const Replay& replay(const Place& place) const;
    // Failed before with this version of its algorithm, in any run.
    bool known_bad(const Place& place, const core::Config& config, std::uint32_t algorithm_version) const;

    void record(db::Trial trial);
    void note_complete(const Place& place);  // the search of this problem tried everything
    void save_spent();
    // The text of the re-test's plan; once it is there the search is closed.
    std::optional<std::string> confirm_plan() const;
    void save_confirm_plan(const std::string& text);
    // Where this run was published; empty = not yet.
    std::string released_at() const;
    void save_release(const std::string& path);
    void finish();

private:
    void start();
    void resume();
    void save_budget(std::int64_t budget_ns);
    void absorb(const std::vector<db::Trial>& trials);
    struct Launches {
        std::set<std::string> search, confirm;
        std::int64_t last_search = 0;  // id of the last search trial
    };
    bool of_retest(const db::Trial& trial, const Launches& launches) const;
    std::string name(const std::string& what) const;

    const SessionOptions& options_;
    const SessionParts& parts_;
    std::string run_;
    bool resumed_ = false, already_complete_ = false;
    std::uint64_t trials_ = 0, replayed_ = 0;
    std::int64_t budget_ns_ = 0, started_ns_ = 0, saved_ns_ = 0;
    std::map<Place, Replay> replays_;
    std::set<std::tuple<Place, std::string, std::uint32_t>> bad_;
    std::vector<Failure> failures_;
};

}  // namespace attune::tuner
