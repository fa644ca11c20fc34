#include "collectives/launcher.hpp"

#include "collectives/bootstrap_hub.hpp"
#include "collectives/launcher_output.hpp"
#include "collectives/launcher_process.hpp"
#include "libcore/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include <poll.h>

namespace attune::collectives {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds notice_time{2000};     // for ranks to see by themselves that another failed
constexpr milliseconds terminate_time{2000};  // from SIGTERM to SIGKILL
constexpr milliseconds until_period{100};
constexpr milliseconds crowded_period{1};
constexpr milliseconds foreign_period{10};
constexpr milliseconds closing_time{100};  // from the end of a rank's socket, which comes first, to the end of its process

}  // namespace

BindTo parse_bind_to(std::string_view text) {
    const std::vector<std::string> words = {"core", "none"};
    return core::require_word("binding", text, words) == "core" ? BindTo::core : BindTo::none;
}

struct Team::State {
    std::vector<RankProcess> ranks;
    std::vector<int> binding;
    std::optional<Hub> hub;
    std::vector<RankExit> exits;
    int wake = -1;
    std::optional<Clock::time_point> failed_at;
    std::vector<std::optional<Clock::time_point>> closed_at;  // of each rank's socket
    int escalation = 0;                                       // 1 = SIGTERM sent, 2 = SIGKILL sent

    bool running() const { return exits.size() < ranks.size(); }
    void serve_once(Clock::time_point latest);
    void dispatch(const std::vector<pollfd>& entries);
    void reap(int rank);
    void notice_closed();
    void escalate();
    void signal(int number);
    Clock::time_point next_wake(Clock::time_point latest) const;
    std::vector<pollfd> entries() const;
};

namespace {

enum Entry : std::size_t { control_entry, life_entry, output_entry, error_entry, entries_per_rank };

pollfd output_poll(const std::optional<TaggedOutput>& output) {
    return {output ? output->descriptor() : -1, POLLIN, 0};
}

}  // namespace

// Per rank the control socket, the pidfd and two output pipes; then the wake descriptor. -1 is ignored by poll().
std::vector<pollfd> Team::State::entries() const {
    std::vector<pollfd> result;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        const RankProcess& process = ranks[rank];
        const short interest = hub->interest(static_cast<Rank>(rank));
        result.push_back({interest != 0 ? process.control.get() : -1, interest, 0});
        result.push_back({process.life ? process.life.get() : -1, POLLIN, 0});
        result.push_back(output_poll(process.output));
        result.push_back(output_poll(process.error));
    }
    result.push_back({wake, POLLIN, 0});
    return result;
}

void Team::State::dispatch(const std::vector<pollfd>& entries) {
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        const pollfd* entry = &entries[rank * entries_per_rank];
        if (entry[output_entry].revents != 0) ranks[rank].output->forward();
        if (entry[error_entry].revents != 0) ranks[rank].error->forward();
        if (entry[control_entry].revents != 0) hub->ready(static_cast<Rank>(rank), entry[control_entry].revents);
    }
    // Deaths last: what a rank sent before it ended was seen above.
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
        if (entries[rank * entries_per_rank + life_entry].revents != 0) reap(static_cast<int>(rank));
}

void Team::State::reap(int rank) {
    RankProcess& process = ranks[static_cast<std::size_t>(rank)];
    const std::optional<int> status = process.reap();
    if (!status) return;
    exits.push_back({rank, process.pid, *status});
    hub->ended(rank, describe(exits.back()));
    if (*status != 0 && !failed_at) failed_at = Clock::now();
}

// Names the death of a process rather than the end of its socket, unless it lives on without.
void Team::State::notice_closed() {
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        if (!ranks[rank].life || !hub->closed(static_cast<Rank>(rank))) continue;
        if (!closed_at[rank]) closed_at[rank] = Clock::now();
        if (Clock::now() - *closed_at[rank] >= closing_time) hub->ended(static_cast<Rank>(rank), fmt::format("rank {} closed its launch descriptor", rank));
    }
}

void Team::State::escalate() {
    if (!failed_at || !running()) return;
    const auto since = Clock::now() - *failed_at;
    if (escalation == 0 && since >= notice_time) {
        escalation = 1;
        signal(SIGTERM);
    }
    if (escalation == 1 && since >= notice_time + terminate_time) {
        escalation = 2;
        signal(SIGKILL);
    }
}

void Team::State::signal(int number) {
    for (const RankProcess& process : ranks)
        process.signal(number);
}

Clock::time_point Team::State::next_wake(Clock::time_point latest) const {
    const Clock::time_point now = Clock::now();
    if (hub->crowded()) latest = std::min(latest, now + crowded_period);
    if (hub->foreign()) latest = std::min(latest, now + foreign_period);
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
        if (ranks[rank].life && closed_at[rank] && *closed_at[rank] + closing_time > now) latest = std::min(latest, *closed_at[rank] + closing_time);
    if (failed_at && escalation == 0) latest = std::min(latest, *failed_at + notice_time);
    if (failed_at && escalation == 1) latest = std::min(latest, *failed_at + notice_time + terminate_time);
    return latest;
}

void Team::State::serve_once(Clock::time_point latest) {
    escalate();
    notice_closed();
    if (hub->crowded()) hub->retry();
    if (hub->foreign()) hub->look_again();
    std::vector<pollfd> watched = entries();
    const auto left = std::chrono::ceil<milliseconds>(next_wake(latest) - Clock::now()).count();
    const int timeout = static_cast<int>(std::clamp<long long>(left, 0, 60'000));
    if (::poll(watched.data(), watched.size(), timeout) > 0) dispatch(watched);
}

Team::Team(std::unique_ptr<State> state) : state_(std::move(state)) {}
Team::Team(Team&&) noexcept = default;

Team& Team::operator=(Team&& other) noexcept {
    if (this != &other && state_) kill();
    state_ = std::move(other.state_);
    return *this;
}

Team::~Team() {
    if (state_) kill();
}

Team Team::launch(const LaunchOptions& options) {
    auto state = std::make_unique<State>();
    state->binding = binding_of(options);
    state->ranks = start_ranks(options, state->binding);
    state->closed_at.resize(state->ranks.size());
    std::vector<int> sockets;
    for (const RankProcess& process : state->ranks)
        sockets.push_back(process.control.get());
    state->hub.emplace(std::move(sockets));
    return Team(std::move(state));
}

int Team::size() const noexcept {
    return static_cast<int>(state_->ranks.size());
}
pid_t Team::pid(int rank) const {
    return state_->ranks.at(static_cast<std::size_t>(rank)).pid;
}
int Team::control(int rank) const {
    return state_->ranks.at(static_cast<std::size_t>(rank)).control.get();
}
std::vector<int> Team::binding() const {
    return state_->binding;
}
void Team::wake_on(int descriptor) {
    state_->wake = descriptor;
}
std::string Team::output_failure() const {
    for (std::size_t rank = 0; rank < state_->ranks.size(); ++rank)
        if (const int error = state_->ranks[rank].write_error(); error != 0)
            return fmt::format("cannot write the output of rank {}: {}; what followed is lost", rank, std::strerror(error));
    return {};
}
std::vector<RankExit> Team::exits() const {
    return state_->exits;
}
bool Team::running() const {
    return state_->running();
}
void Team::signal(int number) {
    state_->signal(number);
}

void Team::serve(const std::function<bool()>& until, std::optional<Clock::time_point> deadline) {
    while (true) {
        if (until && until()) return;
        const Clock::time_point now = Clock::now();
        if (!running() || (deadline && now >= *deadline)) break;
        Clock::time_point latest = now + std::chrono::minutes(1);
        if (until) latest = now + until_period;
        if (deadline) latest = std::min(latest, *deadline);
        state_->serve_once(latest);
    }
    if (running()) return;
    for (RankProcess& process : state_->ranks)
        process.finish_output();
}

int Team::wait() {
    serve({}, {});
    for (const RankExit& exit : state_->exits)
        if (exit.status != 0) return exit.status;
    return 0;
}

void Team::kill() {
    signal(SIGKILL);
    for (std::size_t rank = 0; rank < state_->ranks.size(); ++rank) {
        RankProcess& process = state_->ranks[rank];
        if (const std::optional<int> status = process.end()) state_->exits.push_back({static_cast<int>(rank), process.pid, *status});
        process.finish_output();
    }
}

}  // namespace attune::collectives
