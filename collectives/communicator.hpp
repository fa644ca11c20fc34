// The ranks of a team and their calls: blocking, non-blocking, with the agreed choice per problem.
#pragma once

#include "collectives/bootstrap.hpp"
#include "collectives/chooser.hpp"
#include "collectives/executor.hpp"
#include "libcore/log.hpp"
#include "libcore/trace.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attune::collectives {

// What rank 0 found. Exactly one of the three: a table, "none", or an error.
struct TableResult {
    core::ConfigTable table;
    std::string origin;                 // file it came from, empty = none
    std::vector<std::string> warnings;  // "…: digest does not match; running on defaults"
    int fatal_code = 0;                 // require mode: the exit code (3 or 4) with `fatal_message`
    std::string fatal_message;
};
// Runs on rank 0 only, once, at creation. May be empty: no table.
using TableSource = std::function<TableResult()>;

struct CommunicatorOptions {
    std::string transport = "shm";
    TransportOptions lanes;
    ExecutorOptions execution;
    ForcedChoices forced;
    TableSource table_source;
    std::string databases;  // files this rank would use, in words ("none"); who would use others than rank 0 is warned about, by name
    core::Log log;
    core::TraceSink* trace = nullptr;         // gets an event per call; must outlive the communicator
    bool check_calls = false;                 // ATTUNE_CHECK=1: compare the calls of all ranks before each
    std::optional<core::CpuSet> launch_cpus;  // the launcher's set before binding, for identity
    std::optional<core::Topology> topology;   // of this machine; discovered by rank 0 when absent
    bool bound = false;                       // make_local only: the threads will be bound to CPUs of their own
};

// Times are taken only when a trace sink is set or the log level is info or more.
struct CallStatistics {
    std::uint64_t calls = 0;
    std::uint64_t exact = 0, interval = 0, none = 0, forced = 0;  // by match grade; explicit configs count as forced
    struct Problem_time {
        Problem problem;
        double total_us = 0;
        std::uint64_t calls = 0;
    };
    std::vector<Problem_time> costliest_on_default;  // at most three
};

struct CachedCall;

// A problem with an explicit config, compiled. For loops that measure: starting it costs no look-up. Belongs to the communicator that made it.
class PreparedCall {
public:
    PreparedCall() = default;

private:
    friend class Communicator;
    std::shared_ptr<const CachedCall> call_;
};

// Counts, buffers and types as in Problem; `void*` because the dtype is a run-time value. Every call is collective and in the same order on all
// ranks. Throws Error(failure) as Executor::start and Error(usage) for overlapping two-buffer calls or a bad root, before anything is sent. Not
// thread-safe.
class Communicator {
public:
    // Collective over the bootstrap. Creates the transport, agrees on the table: rank 0's is broadcast with every rank's hardware class, all compare
    // a digest; rows needing an instruction set some rank lacks are dropped for all.
    Communicator(Bootstrap& bootstrap, CommunicatorOptions options);
    // One per rank, for threads of this process (transport `local`).
    static std::vector<std::unique_ptr<Communicator>> make_local(int ranks, const CommunicatorOptions& options);
    ~Communicator();
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;

    Rank rank() const noexcept;
    int size() const noexcept;

    // `problem.ranks` and `problem.node_map` are filled in by the communicator. In place: input == output == start of the larger buffer.
    Ticket start(Problem problem, const void* input, void* output);
    // The same with an explicit config instead of the chosen one (benchmarks, tuner). Throws Error(usage) when it cannot run the problem.
    Ticket start(Problem problem, const core::Config& config, const void* input, void* output);
    PreparedCall prepare(Problem problem, const core::Config& config);
    Ticket start(const PreparedCall& call, const void* input, void* output);
    bool done(Ticket ticket);
    void wait(Ticket ticket);
    void run(const PreparedCall& call, const void* input, void* output);
    void run(const Problem& problem, const void* input, void* output);
    void run(const Problem& problem, const core::Config& config, const void* input, void* output);

    Choice choice(Problem problem) const;  // what a call would use and why
    const Chooser& chooser() const noexcept;
    const std::string& table_origin() const noexcept;
    CallStatistics statistics() const;
    Transport& transport() noexcept;

private:
    struct State;
    explicit Communicator(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace attune::collectives
