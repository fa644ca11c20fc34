// The end of one call inside a batch. Where a rank may return before the others have what it brought, a batch without this would time only how far that
// rank can run ahead.
#pragma once

#include "collectives/problem.hpp"
#include "tuner/engine/meeting.hpp"

#include <cstdint>

namespace attune::tuner::engine {

enum class CompletionKind : std::uint8_t {
    none,         // every rank needs something of every other: nobody gets far ahead
    root_waits,   // the root sends only: it goes on when the last rank has finished
    all_wait,     // one rank is always last: the others go on when it has finished
    all_for_all,  // amounts and partners are arbitrary: everybody waits for everybody
};
CompletionKind completion_kind(const collectives::Problem& problem) noexcept;

// One per sample command and rank; all ranks make the same calls.
class Completion {
public:
    Completion(const collectives::Problem& problem, Meeting& meeting);

    bool needed() const noexcept { return kind_ != CompletionKind::none && meeting_.size() > 1; }
    // Counters only grow, over all commands of a launch. Called at a barrier, by all ranks.
    void begin();
    void complete();
    // What complete() alone costs a call, ns, measured empty; collective.
    double cost_ns();

private:
    void wait_for(int rank, std::uint64_t count);
    void wait_for_all();
    void announce(std::uint64_t round);

    CompletionKind kind_;
    int one_;  // the root, or the rank that is last
    Meeting& meeting_;
    std::uint64_t base_ = 0, completed_ = 0;
};

}  // namespace attune::tuner::engine
