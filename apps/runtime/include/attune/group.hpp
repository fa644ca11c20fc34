// Several calls as one. Included by attune.hpp.
#pragma once

#include <attune/attune.hpp>

#include <cstddef>
#include <memory>
#include <span>

namespace attune {

// The place of a request that is done now, the first from the front; requests that were done before are passed over. requests.size() when all of them were.
// The requests may be of several communicators of this thread.
ATTUNE_EXPORT std::size_t wait_any(std::span<Request> requests);
ATTUNE_EXPORT void wait_all(std::span<Request> requests);

// Calls that are started together:
//
//   attune::Group group;
//   group.add(rows, attune::calls::all_reduce(a, b, n));
//   group.add(columns, attune::calls::all_gather(c, d, n));
//   group.run();
//
// Only the calls of each communicator must be in the same order on its ranks. Communicators and buffers must live until run() has returned.
class ATTUNE_EXPORT Group {
public:
    Group();
    ~Group();  // runs what was added and not run
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;

    void add(Communicator& team, const Call& call, const void* input, void* output);
    void add(Communicator& team, const BoundCall& call) { add(team, call.call, call.input, call.output); }
    void start();  // starts all that were added
    void run();    // and waits for all

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace attune
