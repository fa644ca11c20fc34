// A tuning run: survey, search, re-test in fresh launches, publish; every trial committed before the next starts, so it can be killed and
// resumed at any moment.
#pragma once

#include "db/journal.hpp"
#include "db/release.hpp"
#include "libcore/clock.hpp"
#include "tuner/arena.hpp"
#include "tuner/measure.hpp"
#include "tuner/publish.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace attune::tuner {

enum class Phase : std::uint8_t { survey, search, confirm, publish };
std::string_view name_of(Phase phase) noexcept;

struct Progress {
    Phase phase = Phase::survey;
    std::size_t problem = 0, problems = 0;      // in this phase, 1-based
    std::string label = {};                     // "all_reduce 64 KiB"
    std::size_t candidate = 0, candidates = 0;  // tried so far, of this problem
    double best_gain = 1;                       // of this problem, as the search sees it
    std::int64_t spent_ns = 0, budget_ns = 0;
    std::uint64_t trials = 0;  // of this run, earlier sessions included
};

struct Failure {
    core::Key key;
    std::uint64_t bytes = 0;
    core::Config config;
    db::Outcome outcome = db::Outcome::failed;
    std::string message;
};

struct SessionOptions {
    std::vector<collectives::Problem> problems;  // in this order
    TeamOptions team;
    std::string strategy = "exhaustive";
    std::int64_t budget_ns = 120'000'000'000;
    bool budget_given = false;  // resuming: another budget than the run's counts from now; without one the run's own goes on
    std::uint64_t seed = 1;
    bool resume = false;
    bool publish = true;
    std::string description;  // canonical text of what must be equal to resume
    std::string release_path;
    std::vector<db::ReleaseRow> recheck;  // not empty: re-test these instead of searching
    std::vector<std::pair<std::string, std::string>> context;
    std::string tool_version;
    std::function<void(std::int64_t)> pause;  // sleeps so many ns; absent = not at all
    BlockOptions block{.target_ns = 16'000'000, .minimum_iterations = 2, .maximum_iterations = 250};
};

struct SessionParts {
    Target& target;
    db::Journal& journal;
    const db::Identity& identity;
    core::Clock& clock;
    std::function<void(const Progress&)> progress;  // after every trial
    std::function<bool()> interrupted;              // asked between trials
};

struct SessionResult {
    std::string run;
    bool resumed = false;
    bool already_complete = false;  // --resume found a finished run: nothing was done
    bool interrupted = false;
    bool published = false;      // by this session
    std::string released_at;     // where this run's release is, by this session or an earlier one; empty: nowhere
    std::int64_t budget_ns = 0;  // of this run
    std::int64_t spent_ns = 0;
    std::uint64_t trials = 0;        // of this run
    std::uint64_t replayed = 0;      // of them, taken from the journal
    std::vector<core::Key> keys;     // of options.problems, same order
    std::vector<bool> searched;      // of options.problems: something was measured in this run
    Selection selection;             // also computed when nothing is published
    std::vector<Failure> failures;   // of this run
    std::vector<std::string> notes;  // for people: what was skipped and why
};

// Ends within the budget plus one capped trial plus publishing. Throws Error(usage) when there is nothing to resume or the options differ
// (naming both), and what Target, Journal and write_release throw.
SessionResult run_session(const SessionOptions& options, const SessionParts& parts);

}  // namespace attune::tuner
