// Several started calls as one: of one communicator or of several, waited for together or until the first is done.
#pragma once

#include "collectives/communicator.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace attune::collectives {

struct StartedCall {
    Communicator* team = nullptr;
    Ticket ticket;  // call 0 = nothing to wait for: done
};

// The place of a call that is done, the first one found from the front; at least one call is given. Throws as Communicator::wait() of any of them.
std::size_t wait_any(std::span<const StartedCall> calls);
void wait_all(std::span<const StartedCall> calls);

// Calls that are started together. Ranks may add those of several communicators in different orders, and more than a communicator has slots: only the
// calls of each one must be in the same order on its ranks. Buffers must live until the end of wait(). Not thread-safe. A group that is used again for
// calls made before allocates nothing.
class CallGroup {
public:
    void add(Communicator& team, const Problem& problem, const void* input, void* output);
    void add(Communicator& team, PreparedCall call, const void* input, void* output);
    std::size_t size() const noexcept { return calls_.size(); }

    // Starts all; communicators in the order of their numbers, on which their ranks agree, so that a full one cannot make ranks wait in a circle.
    void start();
    void wait();  // starts what was not started, and forgets all

private:
    struct Entry {
        Communicator* team = nullptr;
        Problem problem;
        std::optional<PreparedCall> prepared;  // instead of the problem
        const void* input = nullptr;
        void* output = nullptr;
    };
    void insert(Entry entry);

    std::vector<Entry> calls_;  // not started yet, by the numbers of their communicators
    std::vector<StartedCall> started_;
    // Being started and waited for; kept for their room.
    std::vector<Entry> starting_;
    std::vector<StartedCall> waiting_;
};

}  // namespace attune::collectives
