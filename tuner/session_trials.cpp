// A crash, a hang or a wrong answer blames the candidate in flight and costs one trial.
#include "tuner/session_trials.hpp"

#include "collectives/catalogue.hpp"
#include "collectives/chooser.hpp"
#include "collectives/default_config.hpp"
#include "libcore/error.hpp"

#include <algorithm>

namespace attune::tuner {
namespace {

constexpr std::int64_t smallest_cap_ns = 1'000'000'000;
constexpr std::int64_t first_cap_ns = 10'000'000'000;  // until the default was measured here

db::Outcome outcome_of(CheckOutcome outcome) {
    switch (outcome) {
        case CheckOutcome::ok:
            return db::Outcome::ok;
        case CheckOutcome::wrong:
            return db::Outcome::wrong;
        case CheckOutcome::timeout:
            return db::Outcome::timeout;
        case CheckOutcome::failed:
            break;
    }
    return db::Outcome::failed;
}

std::int64_t cap_of(std::int64_t default_ns) {
    return std::max(smallest_cap_ns, 10 * default_ns);
}

}  // namespace

Observation observation_of(const db::Trial& trial, std::size_t candidate) {
    const bool ok = trial.outcome == db::Outcome::ok;
    return {candidate, ok || trial.outcome == db::Outcome::noisy, ok, trial.ratio, trial.placement};
}

TrialRunner::TrialRunner(const SessionOptions& options, const SessionParts& parts, SessionLog& log) : options_(options), parts_(parts), log_(log) {}

Arena& TrialRunner::arena() {
    if (arena_ && arena_->alive()) return *arena_;
    arena_.reset();  // the old team ends before the new one needs its cores
    loaded_ = false;
    arena_ = parts_.target.launch(options_.team);
    binding_ = arena_->bound() ? "bound" : "unbound";
    return *arena_;
}

void TrialRunner::relaunch() {
    arena_.reset();
    loaded_ = false;
    checked_.clear();
}

core::Key TrialRunner::key_of(const collectives::Problem& problem) {
    if (binding_.empty()) arena();
    collectives::ChooserFacts facts;
    facts.transport = options_.team.transport;
    facts.node_map = problem.node_map;
    facts.binding = binding_;
    core::Key key = collectives::key_of(problem, facts);
    // A block proves something about its own root only; publishing joins the first and the last to "any".
    if (collectives::is_rooted(problem.collective)) key.root_class = std::to_string(problem.root);
    return key;
}

void TrialRunner::load(const collectives::Problem& problem, std::vector<core::Config> configs) {
    work_ = {problem, std::move(configs)};
    key_ = key_of(problem);
    place_ = {key_.text(), problem.bytes()};
    checked_.clear();
    loaded_ = hopeless_ = false;
    cap_ns_ = check_cap_ns_ = 0;
}

std::uint32_t TrialRunner::algorithm_version(std::size_t candidate) const {
    const auto* algorithm = collectives::find_algorithm(work_.problem.collective, work_.configs.at(candidate).algorithm());
    return algorithm ? algorithm->version : 0;
}

// False when the problem cannot be loaded. A team that cannot be started at all is an Error for the caller.
bool TrialRunner::prepare() {
    arena();
    if (loaded_) return true;
    arena_->set_cap_ns(first_cap_ns);
    arena_->load(work_);
    loaded_ = arena_->alive();
    return loaded_;
}

CheckResult TrialRunner::check(std::size_t candidate) {
    if (checked_.contains(candidate)) return {};
    arena_->set_cap_ns(check_cap_ns_ > 0 ? check_cap_ns_ : first_cap_ns);
    const std::int64_t start = parts_.clock.now_ns();
    const CheckResult result = arena_->check(candidate);
    if (result.outcome != CheckOutcome::ok) return result;
    if (candidate == 0) check_cap_ns_ = cap_of(parts_.clock.now_ns() - start);
    checked_.insert(candidate);
    return result;
}

db::Trial TrialRunner::describe(std::size_t candidate, std::string_view phase) const {
    db::Trial trial;
    trial.phase = phase;
    trial.key = key_;
    trial.bytes = place_.second;
    trial.config = work_.configs.at(candidate);
    trial.default_config = work_.configs.front();
    trial.default_version = collectives::default_version;
    trial.algorithm_version = algorithm_version(candidate);
    return trial;
}

void TrialRunner::run(std::size_t candidate, db::Trial& trial) {
    trial.launch = arena_->launch();
    const CheckResult checked = check(candidate);
    if (checked.outcome != CheckOutcome::ok) {
        trial.outcome = outcome_of(checked.outcome);
        trial.message = checked.message.empty() ? std::to_string(checked.wrong) + " wrong elements" : checked.message;
        return;
    }
    arena_->set_cap_ns(cap_ns_ > 0 ? cap_ns_ : first_cap_ns);
    const std::int64_t start = parts_.clock.now_ns();
    Block block = paired_block(*arena_, 0, candidate, cuts_, options_.block);
    trial.outcome = outcome_of(block.outcome);
    trial.message = block.message;
    if (block.outcome != CheckOutcome::ok) return;
    if (candidate == 0) cap_ns_ = cap_of(parts_.clock.now_ns() - start);
    if (!block.kept) {
        trial.outcome = db::Outcome::noisy;
        trial.message = "the placement changed within the block";
    }
    trial.placement = block.placement;
    trial.round_trip_ns = block.round_trip_ns;
    trial.batch = block.batch;
    trial.ratio = block.ratio;
    trial.default_ns = std::move(block.a_ns);
    trial.config_ns = std::move(block.b_ns);
}

std::optional<Observation> TrialRunner::block(std::size_t candidate, std::string_view phase) {
    const std::int64_t start = parts_.clock.now_ns();
    arena();  // a team that cannot be started is the caller's error, not the candidate's
    db::Trial trial = describe(candidate, phase);
    try {
        if (!prepare()) throw core::Error(core::ErrorCode::failure, "the team ended while it loaded the problem");
        run(candidate, trial);
    } catch (const core::Error& error) {
        // Loading concerns all candidates: then the problem is given up, and the default carries the note.
        if (!loaded_) trial = describe(candidate = 0, "floor");
        trial.outcome = db::Outcome::failed;
        trial.message = error.what();
        arena_.reset();
    }
    // Ctrl-C reaches the ranks too: a failure right then says nothing about the candidate.
    const bool failed = trial.outcome != db::Outcome::ok && trial.outcome != db::Outcome::noisy;
    if (failed && parts_.interrupted && parts_.interrupted()) return std::nullopt;
    if (failed && candidate == 0) hopeless_ = true;
    last_launch_ = trial.launch;
    log_.record(trial);
    last_block_ns_ = parts_.clock.now_ns() - start;
    return observation_of(trial, candidate);
}

}  // namespace attune::tuner
