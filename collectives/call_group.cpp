#include "collectives/call_group.hpp"

#include "libcore/error.hpp"

#include <algorithm>
#include <utility>

namespace attune::collectives {

// The communicator that rests takes turns, so that each looks after its own dead and late ranks.
std::size_t wait_any(std::span<const StartedCall> calls) {
    if (calls.empty()) throw core::Error(core::ErrorCode::usage, "waiting for any of no calls would never end");
    for (std::size_t turn = 0;; turn = (turn + 1) % calls.size()) {
        for (std::size_t place = 0; place < calls.size(); ++place)
            if (calls[place].ticket.call == 0 || calls[place].team->done(calls[place].ticket)) return place;
        calls[turn].team->pass();
    }
}

void wait_all(std::span<const StartedCall> calls) {
    for (const StartedCall& call : calls)
        if (call.ticket.call != 0) call.team->wait(call.ticket);
}

void CallGroup::add(Communicator& team, const Problem& problem, const void* input, void* output) {
    team.compile_ahead(problem);
    insert({&team, problem, {}, input, output});
}

void CallGroup::add(Communicator& team, PreparedCall call, const void* input, void* output) {
    insert({&team, {}, std::move(call), input, output});
}

// Behind those of the same communicator.
void CallGroup::insert(Entry entry) {
    const auto place = std::ranges::upper_bound(calls_, entry.team->number(), {}, [](const Entry& other) { return other.team->number(); });
    calls_.insert(place, std::move(entry));
}

void CallGroup::start() {
    starting_.clear();
    starting_.swap(calls_);
    for (const Entry& entry : starting_) {
        const Ticket ticket =
            entry.prepared ? entry.team->start(*entry.prepared, entry.input, entry.output) : entry.team->start(entry.problem, entry.input, entry.output);
        started_.push_back({entry.team, ticket});
    }
    starting_.clear();
}

void CallGroup::wait() {
    start();
    waiting_.clear();
    waiting_.swap(started_);
    wait_all(waiting_);
}

}  // namespace attune::collectives
