#include "collectives/executor.hpp"

#include "collectives/call_text.hpp"
#include "collectives/execution/call.hpp"
#include "collectives/execution/watch.hpp"
#include "libcore/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

namespace attune::collectives {

struct Executor::State {
    Transport& transport;
    ExecutorOptions options;
    std::vector<Call> calls;     // by slot
    std::uint64_t started = 0;   // number of the last call
    std::uint64_t numbered = 0;  // of them the user's
    bool counted = true;
    std::uint64_t completed = 0;  // all calls up to this one are over
    Watch watch;
    std::optional<core::Error> failure;
    Executor& self;
    std::shared_ptr<ProgressCircle> circle;  // of the thread that uses this executor

    State(Executor& owner, Transport& team, ExecutorOptions settings) : transport(team), options(std::move(settings)), watch(transport, options), self(owner) {
        if (!options.family) options.family = std::make_shared<ProgressFamily>();
        calls.reserve(in_flight_slots);
        for (std::uint8_t slot = 0; slot < in_flight_slots; ++slot)
            calls.emplace_back(transport, slot, options.steps);
        circle = options.family->join(self);
    }
    ~State() { options.family->leave(self, circle); }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    // From now on the calling thread moves this executor on.
    void claim() {
        if (circle->is_of_calling_thread()) return;
        options.family->leave(self, circle);
        circle = options.family->join(self);
    }

    Call& call(std::uint64_t number) noexcept { return calls[number % in_flight_slots]; }
    bool over(std::uint64_t number) noexcept { return number <= completed || call(number).record().call != number || !call(number).active(); }

    bool holds_message_of(Rank peer) noexcept;
    bool progress() noexcept;
    void begin_wait() noexcept;
    // One pass over all calls in flight; when nothing moved, finds out why or rests.
    void step(bool may_rest);
    void check_plan(const Plan& plan) const;
    // The user's program ran since the last call.
    void enter() const noexcept {
        if (options.steps != nullptr) options.steps->leave();
    }
    // Runs `action`; an Error it throws is thrown again by every later call.
    template <typename Action>
    auto guarded(Action action);
    // The same for what the user's program calls.
    template <typename Action>
    auto entered(Action action) {
        enter();
        return guarded(action);
    }
    void wait_for(Ticket ticket) {
        while (!over(ticket.call))
            step(true);
    }
};

bool Executor::State::holds_message_of(Rank peer) noexcept {
    Incoming incoming;
    for (int lane = 0; lane < in_flight_slots * transport.channels(); ++lane) {
        const auto slot = static_cast<std::uint8_t>(lane % in_flight_slots), channel = static_cast<std::uint8_t>(lane / in_flight_slots);
        if (transport.peek({peer, slot, channel}, 0, true, incoming)) return true;
    }
    return false;
}

bool Executor::State::progress() noexcept {
    bool moved = false;
    for (std::uint64_t number = completed + 1; number <= started; ++number) {
        if (call(number).active()) moved |= call(number).advance();
    }
    const std::uint64_t before = completed;
    while (completed < started && !call(completed + 1).active())
        ++completed;
    if (completed != before) transport.publish_completed(completed);
    return moved;
}

// For the first of those that the oldest call waits for.
void Executor::State::begin_wait() noexcept {
    const Call& oldest = call(completed + 1);
    core::StepRecord wait;
    wait.kind = static_cast<std::uint8_t>(core::TraceKind::wait);
    wait.call = static_cast<std::uint32_t>(oldest.record().number);
    oldest.for_each_awaited([&](Rank peer) { wait.subject = wait.subject < 0 ? peer : wait.subject; });
    options.steps->begin_wait(wait);
}

void Executor::State::step(bool may_rest) {
    bool moved = progress();
    if (circle->has_others() && circle->progress_others(self)) {
        moved = true;
        enter();  // that time was not ours
    }
    if (moved) return watch.moved();
    transport.flush();  // a peer may wait for what the socket did not take at once
    for (const Call& call : calls) {
        if (call.active() && call.mismatch() >= 0) watch.report_mismatch(call, call.mismatch(), call.mismatch_digest());
    }
    if (completed == started) return;
    if (options.steps != nullptr && may_rest && !options.steps->waiting()) begin_wait();
    if (options.progress_hook) options.progress_hook();
    watch.idle(calls, may_rest);
}

template <typename Action>
auto Executor::State::guarded(Action action) {
    if (failure) throw *failure;
    claim();
    try {
        return action();
    } catch (const core::Error& error) {
        failure = error;
        throw;
    }
}

void Executor::State::check_plan(const Plan& plan) const {
    const auto refuse = [&](const std::string& why) {
        throw core::Error(core::ErrorCode::failure, fmt::format("rank {} of {} cannot run this plan: {}", transport.rank(), transport.size(), why));
    };
    if (plan.problem.ranks != transport.size() || plan.rank != transport.rank()) refuse(fmt::format("it is for rank {} of {}", plan.rank, plan.problem.ranks));
    if (plan.channels > transport.channels()) refuse(fmt::format("it uses {} channels of {}; create the team with more", plan.channels, transport.channels()));
    const std::uint64_t fragment = plan.options.fragment_bytes;
    if (fragment == 0 || fragment > transport.fragment_bytes() || fragment % sizeof(double) != 0) {
        refuse(fmt::format("its fragments have {} bytes; use a multiple of 8 up to the transport's {}", fragment, transport.fragment_bytes()));
    }
    if (plan.options.inline_bytes > Transport::inline_limit) {
        refuse(fmt::format("it sends {} bytes inline; the limit is {}", plan.options.inline_bytes, Transport::inline_limit));
    }
    if (plan.direct && transport.direct() == nullptr) refuse(transport.direct_refusal() + "; use protocol=staged");
}

Executor::Executor(Transport& transport, ExecutorOptions options) : state_(std::make_unique<State>(*this, transport, std::move(options))) {}

Executor::~Executor() = default;

void Executor::count_calls(bool counted) noexcept {
    state_->counted = counted;
}

std::string Executor::left_over() {
    State& state = *state_;
    state.claim();
    if (state.failure || state.completed != state.started || !state.transport.abort_reason().empty()) return {};
    for (Rank peer = 0; peer < state.transport.size(); ++peer) {
        if (peer != state.transport.rank() && state.holds_message_of(peer)) return state.watch.left_over(peer);
    }
    return {};
}

Ticket Executor::start(std::shared_ptr<const Plan> plan, const void* input, void* output, std::uint64_t digest, std::string_view text) {
    State& state = *state_;
    return state.entered([&] {
        state.check_plan(*plan);
        CallRecord record;
        record.call = state.started + 1;
        record.digest = digest;
        if (state.counted) record.number = state.numbered + 1;
        fit_text(text, record.text);
        Call& call = state.call(record.call);
        while (call.active())
            state.step(true);
        state.transport.prepare(plan->options.link);
        state.transport.publish(record);
        call.start({std::move(plan), input, output}, record, state.options.steps != nullptr ? state.options.steps->number_of(text) : 0);
        state.started = record.call;
        if (state.counted) ++state.numbered;
        state.step(false);
        return Ticket{record.call};
    });
}

bool Executor::done(Ticket ticket) {
    State& state = *state_;
    return state.entered([&] {
        if (state.over(ticket.call)) return true;
        state.step(false);
        return state.over(ticket.call);
    });
}

void Executor::wait(Ticket ticket) {
    state_->entered([&] { state_->wait_for(ticket); });
}

void Executor::finish(Ticket ticket) {
    state_->guarded([&] { state_->wait_for(ticket); });
}

void Executor::pass() {
    State& state = *state_;
    state.entered([&] { state.step(true); });
}

bool Executor::progress() noexcept {
    State& state = *state_;
    if (state.failure || state.completed == state.started) return false;
    state.enter();
    const bool moved = state.progress();
    if (!moved) state.transport.flush();  // as in step()
    return moved;
}

void Executor::wait_all() {
    State& state = *state_;
    state.entered([&] {
        while (state.completed < state.started)
            state.step(true);
    });
}

}  // namespace attune::collectives
