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
    std::string transport;  // local, shm, tcp, mixed; empty = shm on one node, mixed on more
    std::string node_map;   // logical nodes; empty = the real ones
    TransportOptions lanes;
    ExecutorOptions execution;
    ForcedChoices forced;
    TableSource table_source;
    std::string databases;  // files this rank would use, in words ("none"); who would use others than rank 0 is warned about, by name
    core::Log log;
    std::function<void(const std::string&)> notice;  // gets what rank 0 warns about while it is made; empty = the log
    core::TraceSink* trace = nullptr;                // gets an event per call, or the steps of calls; must outlive the communicator
    bool check_calls = false;                        // ATTUNE_CHECK=1: compare the calls of all ranks before each
    std::optional<core::CpuSet> launch_cpus;         // the launcher's set before binding, for identity
    std::optional<core::Topology> topology;          // of this machine; discovered by rank 0 when absent
    bool bound = false;                              // make_local only: the threads will be bound to CPUs of their own
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

// A problem compiled with its config: the chosen or an explicit one. Starting it costs no look-up and allocates nothing. Belongs to the communicator
// that made it and keeps its config whatever is loaded later.
class PreparedCall {
public:
    PreparedCall() = default;
    explicit operator bool() const noexcept { return call_ != nullptr; }

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
    // "communicator 2 of ranks 0,2": its number and the ranks its members have in the one that the bootstrap made. Empty for number 1.
    const std::string& label() const noexcept;
    std::uint64_t number() const noexcept;  // the members agree on it; within a family none is given twice

    // Collective over this communicator: one of the same kind for all ranks of a color, ordered by key, then by rank. Null for a negative color. Shares table,
    // options, log and trace, needs no launcher, and either may end first; both may be used at once. Throws Error(failure) on every rank of a color
    // when it fails on one.
    std::unique_ptr<Communicator> split(int color, int key);
    std::unique_ptr<Communicator> dup();

    // `problem.ranks` and `problem.node_map` are filled in by the communicator. In place: input == output == start of the larger buffer.
    Ticket start(Problem problem, const void* input, void* output);
    // The same with an explicit config instead of the chosen one (benchmarks, tuner). Throws Error(usage) when it cannot run the problem.
    Ticket start(Problem problem, const core::Config& config, const void* input, void* output);
    PreparedCall prepare(Problem problem, const core::Config& config);
    PreparedCall prepare(Problem problem);  // with the chosen config
    // Throws already what start(problem) would, and makes it fast.
    void compile_ahead(const Problem& problem);
    Ticket start(const PreparedCall& call, const void* input, void* output);
    bool done(Ticket ticket);
    void wait(Ticket ticket);
    void pass();  // for loops over several tickets: moves all calls of the family on, or rests
    void run(const PreparedCall& call, const void* input, void* output);
    void run(const Problem& problem, const void* input, void* output);
    void run(const Problem& problem, const core::Config& config, const void* input, void* output);

    Choice choice(Problem problem) const;  // what a call would use and why

    // Collective. Rank 0 runs the source; from the next call on its table is everybody's. Throws the result's fatal error on every rank, and keeps
    // the old table then.
    void load_table(const TableSource& source);
    // Called by all ranks at the same point: back to defaults.
    void forget_table();
    // The same on all ranks: from now on this config for exactly this problem.
    void apply(const Problem& problem, const core::Config& config, double gain);
    Problem complete(Problem problem) const;  // with the ranks and the node map of this communicator
    // The ranks meet over this communicator; it must outlive the result. Not for use while calls of it are started elsewhere.
    std::unique_ptr<Bootstrap> make_bootstrap();
    const CommunicatorOptions& options() const noexcept;

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
