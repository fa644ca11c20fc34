// Values in the journal are named "<identity> <what>" and "<identity> <run> <what>": several machines may share one file.
#include "tuner/session_log.hpp"

#include "libcore/crypto.hpp"
#include "libcore/error.hpp"

#include <array>
#include <charconv>

namespace attune::tuner {
namespace {

// A run that is killed loses at most this much of its account of time spent.
constexpr std::int64_t save_every_ns = 1'000'000'000;

std::string new_run_id() {
    std::array<std::byte, 6> bytes{};
    core::random_bytes(bytes);
    return core::utc_now() + "-" + core::hex(bytes);
}

std::int64_t number(const std::optional<std::string>& text) {
    std::int64_t value = 0;
    if (text) std::from_chars(text->data(), text->data() + text->size(), value);
    return value;
}

}  // namespace

SessionLog::SessionLog(const SessionOptions& options, const SessionParts& parts) : options_(options), parts_(parts) {
    started_ns_ = parts_.clock.now_ns();
    options_.resume ? resume() : start();
    absorb(parts_.journal.trials(parts_.identity));
}

std::string SessionLog::name(const std::string& what) const {
    return parts_.identity.digest() + " " + run_ + " " + what;
}

void SessionLog::start() {
    run_ = new_run_id();
    // The pointer comes last: a run that is named by it has its options.
    parts_.journal.set_value(name("options"), options_.description);
    parts_.journal.set_value(name("state"), "running");
    save_budget(options_.budget_ns);
    parts_.journal.set_value(parts_.identity.digest() + " run", run_);
}

void SessionLog::resume() {
    using core::Error;
    using core::ErrorCode;
    const auto run = parts_.journal.value(parts_.identity.digest() + " run");
    if (!run) throw Error(ErrorCode::usage, "nothing to resume: the journal holds no run of this machine; start one without --resume");
    run_ = *run;
    resumed_ = true;
    const auto stored = parts_.journal.value(name("options")).value_or("");
    if (stored != options_.description)
        throw Error(ErrorCode::usage, "cannot resume run " + run_ + ": it was started with \"" + stored + "\", now \"" + options_.description +
                                          "\"; repeat its options, or start a new run without --resume");
    already_complete_ = parts_.journal.value(name("state")) == "complete";
    budget_ns_ = number(parts_.journal.value(name("budget_ns")));
    const bool another = options_.budget_given && options_.budget_ns != budget_ns_;
    if (another && !already_complete_) save_budget(options_.budget_ns);
    if (!another) started_ns_ -= number(parts_.journal.value(name("spent_ns")));
}

void SessionLog::save_budget(std::int64_t budget_ns) {
    budget_ns_ = budget_ns;
    parts_.journal.set_value(name("budget_ns"), std::to_string(budget_ns));
    parts_.journal.set_value(name("spent_ns"), "0");
}

// Floor trials are recorded alike in search and re-test; a kill may leave a re-test launch with nothing but floor trials.
bool SessionLog::of_retest(const db::Trial& trial, const Launches& launches) const {
    if (trial.is_evidence() || launches.confirm.contains(trial.launch)) return true;
    return confirm_plan().has_value() && !launches.search.contains(trial.launch) && trial.id > launches.last_search;
}

void SessionLog::absorb(const std::vector<db::Trial>& trials) {
    Launches launches;
    for (const auto& trial : trials) {
        if (trial.run != run_) continue;
        if (trial.is_evidence()) launches.confirm.insert(trial.launch);
        if (trial.phase != "search") continue;
        launches.search.insert(trial.launch);
        launches.last_search = trial.id;
    }
    for (const auto& trial : trials) {
        const Place place{trial.key.text(), trial.bytes};
        if (is_failure(trial.outcome)) bad_.insert({place, trial.config.text(), trial.algorithm_version});
        if (trial.run != run_) continue;
        ++trials_;
        if (is_failure(trial.outcome)) failures_.push_back({trial.key, trial.bytes, trial.config, trial.outcome, trial.message});
        auto& replay = replays_[place];
        (trial.phase == "search" ? replay.search : of_retest(trial, launches) ? replay.confirm : replay.floor).push_back(trial);
    }
    replayed_ = trials_;
}

std::int64_t SessionLog::spent_ns() const {
    return parts_.clock.now_ns() - started_ns_;
}

const Replay& SessionLog::replay(const Place& place) const {
    static const Replay none;
    const auto found = replays_.find(place);
    return found == replays_.end() ? none : found->second;
}

bool SessionLog::known_bad(const Place& place, const core::Config& config, std::uint32_t algorithm_version) const {
    return bad_.contains({place, config.text(), algorithm_version});
}

void SessionLog::record(db::Trial trial) {
    trial.run = run_;
    trial.utc = core::utc_now();
    parts_.journal.record(trial);
    ++trials_;
    if (is_failure(trial.outcome)) failures_.push_back({trial.key, trial.bytes, trial.config, trial.outcome, trial.message});
    if (spent_ns() - saved_ns_ >= save_every_ns) save_spent();
}

void SessionLog::note_complete(const Place& place) {
    parts_.journal.set_value(complete_name(run_, place.first, place.second), "1");
}

void SessionLog::save_spent() {
    saved_ns_ = spent_ns();
    parts_.journal.set_value(name("spent_ns"), std::to_string(saved_ns_));
}

std::optional<std::string> SessionLog::confirm_plan() const {
    return parts_.journal.value(name("plan"));
}

void SessionLog::save_confirm_plan(const std::string& text) {
    parts_.journal.set_value(name("plan"), text);
}

std::string SessionLog::released_at() const {
    return parts_.journal.value(name("release")).value_or("");
}

void SessionLog::save_release(const std::string& path) {
    parts_.journal.set_value(name("release"), path);
}

void SessionLog::finish() {
    save_spent();
    parts_.journal.set_value(name("state"), "complete");
}

}  // namespace attune::tuner
