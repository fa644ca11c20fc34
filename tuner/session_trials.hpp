// Runs single trials: a living team, the loaded problem, the check before the first block, the cap, the record. The tuner's trial boundary.
#pragma once

#include "tuner/session_log.hpp"
#include "tuner/strategy.hpp"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace attune::tuner {

class TrialRunner {
public:
    TrialRunner(const SessionOptions& options, const SessionParts& parts, SessionLog& log);

    Arena& arena();   // a living team, launched when there is none
    void relaunch();  // ends the team: the next trial starts a fresh one, and every candidate is checked again
    core::Key key_of(const collectives::Problem& problem);
    void set_cuts(const profiler::PlacementCuts& cuts) { cuts_ = cuts; }

    // What the next blocks are about; configs[0] is the default. Loading happens with the first block.
    void load(const collectives::Problem& problem, std::vector<core::Config> configs);
    const Place& place() const noexcept { return place_; }
    std::uint32_t algorithm_version(std::size_t candidate) const;

    // One block of the candidate against the default (candidate 0: the default against itself), on disk when it returns. A failure ends the
    // team when it must and is an observation. Nothing when interrupted: then nothing is recorded.
    std::optional<Observation> block(std::size_t candidate, std::string_view phase);
    // The default itself fails or cannot be loaded: this problem cannot be tuned.
    bool hopeless() const noexcept { return hopeless_; }
    const std::string& last_launch() const noexcept { return last_launch_; }  // of the last block
    // Wall time of the last block, with its check and its commit.
    std::int64_t last_block_ns() const noexcept { return last_block_ns_; }

private:
    bool prepare();
    CheckResult check(std::size_t candidate);
    db::Trial describe(std::size_t candidate, std::string_view phase) const;
    void run(std::size_t candidate, db::Trial& trial);

    const SessionOptions& options_;
    const SessionParts& parts_;
    SessionLog& log_;
    profiler::PlacementCuts cuts_;
    std::unique_ptr<Arena> arena_;
    std::string binding_;
    Work work_;
    core::Key key_;
    Place place_;
    std::set<std::size_t> checked_;
    bool loaded_ = false, hopeless_ = false;
    std::int64_t cap_ns_ = 0, check_cap_ns_ = 0;  // 0 = the default was not measured yet
    std::int64_t last_block_ns_ = 0;
    std::string last_launch_;
};

// What the phases of one session share.
struct SessionTools {
    const SessionOptions& options;
    const SessionParts& parts;
    SessionLog& log;
    TrialRunner& runner;
};

// How the session sees a recorded trial.
Observation observation_of(const db::Trial& trial, std::size_t candidate);

}  // namespace attune::tuner
