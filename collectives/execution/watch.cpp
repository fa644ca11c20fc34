#include "collectives/execution/watch.hpp"

#include "libcore/clock.hpp"
#include "libcore/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <string_view>

#include <sched.h>

namespace attune::collectives {

namespace {

// Passes of the spin phase: the first without a pause (a pause is 40 to 140 cycles), the rest with one. With more ranks than CPUs there is none: a
// spinning rank keeps the one it waits for from running (2,000 pauses made an 8-byte all_reduce of 4 ranks on 2 cores 113 us, none 3 us).
constexpr std::uint64_t bare_passes = 200, spin_passes = 3000;
constexpr std::uint64_t passes_per_clock_read = 8;  // a pass may have slept
constexpr std::int64_t first_inspection_ns = 2'000'000, inspection_ns = 50'000'000;
constexpr std::int64_t unreachable_after_ns = 500'000'000;  // a rank that died is known to be dead before that
constexpr std::int64_t sleep_after_ns = 20'000'000;
constexpr timespec sleep_time{0, 50'000};
// Transports that can sleep on their descriptors do so at the end of the spin phase; with more ranks than CPUs after a few yields, which are cheaper
// than a sleep when the awaited rank is the next to run.
constexpr std::uint64_t crowded_passes = 16;
constexpr std::int64_t rest_ns = 250'000;  // other communicators of this thread have no descriptor here

std::string name_call(const CallRecord& record) {
    if (record.call == 0) return "no call yet";
    if (record.number == 0) return record.text;  // our own: it says what it is for
    return fmt::format("call {} '{}'", record.number, std::string_view(record.text));
}

bool awaits(const Call& call, Rank peer) {
    bool found = false;
    call.for_each_awaited([&](Rank awaited) { found = found || awaited == peer; });
    return found;
}

const Call* oldest(std::span<const Call> calls) {
    const Call* found = nullptr;
    for (const Call& call : calls) {
        if (call.active() && (found == nullptr || call.record().call < found->record().call)) found = &call;
    }
    return found;
}

}  // namespace

void Watch::idle(std::span<const Call> calls, bool may_rest) {
    ++passes_;
    const bool crowded = transport_.oversubscribed();
    if (!crowded && passes_ <= spin_passes) {
        if (may_rest && passes_ > bare_passes) __builtin_ia32_pause();
        return;
    }
    check_abort();
    const bool asleep = may_rest && (!crowded || passes_ > crowded_passes) && transport_.rest(rest_ns);
    if (may_rest && !asleep) sched_yield();
    if (passes_ % passes_per_clock_read != 0) return;
    const std::int64_t now = core::now_ns();
    if (waiting_since_ == 0) {
        waiting_since_ = now;
        next_inspection_ = now + first_inspection_ns;
    }
    if (now >= next_inspection_) inspect(calls, now);
    if (may_rest && !asleep && now - waiting_since_ >= sleep_after_ns) nanosleep(&sleep_time, nullptr);
}

void Watch::inspect(std::span<const Call> calls, std::int64_t now) {
    next_inspection_ = now + inspection_ns;
    transport_.refresh();
    check_records(calls);
    check_dead(calls);
    const std::int64_t waited = now - waiting_since_;
    if (waited >= unreachable_after_ns) check_reachable(calls);
    if (waited >= options_.late_report_ns) report_late(calls, waited);
    if (options_.timeout_ns == 0 || waited < options_.timeout_ns) return;
    const Call* const call = oldest(calls);
    if (call == nullptr) return;
    std::string peers;
    call->for_each_awaited(
        [&](Rank peer) { peers += fmt::format("{}rank {} (in {})", peers.empty() ? "" : ", ", peer, name_call(transport_.published(peer))); });
    fail(fmt::format("timeout: rank {} waited {} ms in {} for {}; raise the timeout if they are only slow", transport_.rank(), waited / 1'000'000,
                     name_call(call->record()), peers));
}

void Watch::check_abort() const {
    const std::string reason = transport_.abort_reason();
    if (!reason.empty()) throw core::Error(core::ErrorCode::failure, reason);
}

void Watch::check_records(std::span<const Call> calls) {
    for (const Call& call : calls) {
        if (!call.active()) continue;
        const int slot = static_cast<int>(call.record().call % in_flight_slots);
        call.for_each_awaited([&](Rank peer) {
            const CallRecord other = transport_.published_in(peer, slot);
            if (other.call == call.record().call && other.digest != call.record().digest) report_mismatch(call, peer, other.digest);
        });
    }
}

// A message lies in the lane until it is read, so it may be of a call that its sender left long ago: then its present call is not to blame.
void Watch::report_mismatch(const Call& call, Rank peer, std::uint64_t digest) {
    const CallRecord other = transport_.published_in(peer, static_cast<int>(call.record().call % in_flight_slots));
    if (other.call != call.record().call || other.digest != digest) {
        fail(fmt::format(
            "ranks disagree: rank {} in {} found a message of rank {} left over from an earlier call, where the two made different calls; rank {} is "
            "now in {}; ATTUNE_CHECK=1 finds the call",
            transport_.rank(), name_call(call.record()), peer, peer, name_call(transport_.published(peer))));
    }
    fail(fmt::format("ranks disagree: rank {} is in {}, rank {} in {}; every rank must make the same calls in the same order", transport_.rank(),
                     name_call(call.record()), peer, name_call(other)));
}

std::string Watch::left_over(Rank peer) const {
    return labelled(fmt::format(
        "rank {} left with a message of rank {} unread: the ranks called different collectives; the last of rank {} was {}, of rank {} {}; "
        "ATTUNE_CHECK=1 names the call",
        transport_.rank(), peer, transport_.rank(), name_call(transport_.published(transport_.rank())), peer, name_call(transport_.published(peer))));
}

std::string Watch::labelled(const std::string& text) const {
    return options_.label.empty() ? text : options_.label + ": " + text;
}

// A rank that finished a call needs nobody in it and nobody needs it: it may leave. What it wrote before it went is seen by the next pass, so a death
// counts only when it was already known at the inspection before.
void Watch::check_dead(std::span<const Call> calls) {
    std::vector<Rank> dead = transport_.dead_ranks();
    for (const Rank rank : dead) {
        if (std::ranges::find(suspects_, rank) == suspects_.end()) continue;
        const std::uint64_t completed = transport_.completed(rank);
        for (const Call& call : calls) {
            if (!call.active() || (completed >= call.record().call && !awaits(call, rank))) continue;
            const bool left = transport_.has_left(rank);
            fail(fmt::format("rank {} (process {}) {}: rank {} waits in {} at operation {}; the last of {} was {}", rank, transport_.process_of(rank),
                             left ? "has ended its communicator" : "is gone", transport_.rank(), name_call(call.record()), call.position(),
                             left ? "that rank" : "the lost rank", name_call(transport_.published(rank))));
        }
    }
    suspects_ = std::move(dead);
}

void Watch::check_reachable(std::span<const Call> calls) {
    for (const Call& call : calls) {
        if (!call.active() || call.loss().peer < 0) continue;
        fail(fmt::format("rank {} cannot reach the memory of rank {} in {}: {}; the buffers of a call must stay mapped until it is done", transport_.rank(),
                         call.loss().peer, name_call(call.record()), std::strerror(call.loss().error)));
    }
}

void Watch::report_late(std::span<const Call> calls, std::int64_t waited_ns) {
    const Call* const call = oldest(calls);
    if (call == nullptr || late_reported_ == call->record().call || !options_.warn) return;
    late_reported_ = call->record().call;
    call->for_each_awaited([&](Rank peer) {
        options_.warn(labelled(fmt::format("rank {} has waited {} s in {} for rank {}, which is alive; its last call is {}", transport_.rank(),
                                           waited_ns / 1'000'000'000, name_call(call->record()), peer, name_call(transport_.published(peer)))));
    });
}

void Watch::fail(const std::string& reason) {
    const std::string named = labelled(reason);
    transport_.abort(named);
    // Two ranks may find a cause at once; the first to say so gives the text that all throw.
    const std::string first = transport_.abort_reason();
    throw core::Error(core::ErrorCode::failure, first.empty() ? named : first);
}

}  // namespace attune::collectives
