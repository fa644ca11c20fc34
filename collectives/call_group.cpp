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
    add(team, team.prepare(problem), input, output);
}

void CallGroup::add(Communicator& team, PreparedCall call, const void* input, void* output) {
    calls_.push_back({&team, std::move(call), input, output});
}

void CallGroup::start() {
    std::ranges::stable_sort(calls_, {}, [](const Entry& entry) { return entry.team->number(); });
    const std::vector<Entry> entries = std::exchange(calls_, {});
    for (const Entry& entry : entries)
        started_.push_back({entry.team, entry.team->start(entry.call, entry.input, entry.output)});
}

void CallGroup::wait() {
    start();
    const std::vector<StartedCall> started = std::exchange(started_, {});
    wait_all(started);
}

}  // namespace attune::collectives
