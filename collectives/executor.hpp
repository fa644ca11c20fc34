// Runs one rank's plans over a transport. Non-blocking core; up to four calls in flight; a repeated plan allocates nothing.
#pragma once

#include "collectives/execution/progress_family.hpp"
#include "collectives/plan.hpp"
#include "collectives/transport/transport.hpp"
#include "libcore/step_trace.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace attune::collectives {

// One started call. Copyable; done calls stay askable.
struct Ticket {
    std::uint64_t call = 0;  // 0 = nothing to wait for
};

struct ExecutorOptions {
    std::int64_t late_report_ns = 60'000'000'000;  // a living rank that has not arrived is reported once
    std::int64_t timeout_ns = 0;                   // 0 = none
    std::function<void(const std::string&)> warn;  // gets the late report
    std::function<void()> progress_hook;           // called in wait loops (for MPI); may be empty
    std::string label;                             // which communicator messages are about, "communicator 2 of ranks 0,2"; empty = the only one
    std::shared_ptr<ProgressFamily> family;        // whose calls move on while this one waits; null = a family of its own
    core::StepTrace* steps = nullptr;              // gets what happens inside calls; must outlive the executor
};

// Not thread-safe: one thread at a time, and one that takes over finds no call in flight, or waits for all of them itself. After an Error thrown by any
// call the executor stays failed and throws it again.
class Executor {
public:
    Executor(Transport& transport, ExecutorOptions options);
    ~Executor();

    // Starts the next call. `input` and `output` as in Problem; in place both point at the larger buffer's start
    // (input == output). `digest` covers everything that must be equal on all ranks; `text` is what other ranks print. The buffers and the plan
    // must live until the call is done. When the slot is busy, all calls are progressed until it is free. Throws Error(failure): dead rank,
    // mismatched call (both ranks and both calls named), abort by another rank, timeout.
    Ticket start(std::shared_ptr<const Plan> plan, const void* input, void* output, std::uint64_t digest, std::string_view text);
    bool done(Ticket ticket);  // progresses all calls; true when this one is complete
    void wait(Ticket ticket);
    void finish(Ticket ticket);  // wait() right after start(): for a trace, the user's program did not run between
    void wait_all();
    // One pass of a wait loop: moves all calls of the family on, else rests and looks why nothing comes. For loops that wait for one of several.
    void pass();
    // One pass over the calls in flight here; nothing after a failure. True when anything moved.
    bool progress() noexcept;
    // Whether calls started from now on are the user's; only those have numbers in messages. At first they are.
    void count_calls(bool counted) noexcept;
    // For the end: a line about a message that nobody will read, which proves that the ranks called different collectives. Empty when there is none,
    // a call is in flight or something failed before.
    std::string left_over();

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace attune::collectives
