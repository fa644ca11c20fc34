// attune: collectives between the ranks of a job, run the way the tuning database proved fastest on this machine.
//
//   attune::Communicator team;                       // a rank of `attune-run -n 4 -- program`, else alone
//   team.all_reduce(gradient.data(), gradient.size());  // in place, sum
//
// Link with attune::attune. Everything here is in the library libattune.so; nothing of third parties is included.
#pragma once

#include <attune/calls.hpp>
#include <attune/methods.hpp>
#include <attune/types.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace attune {

// What a call uses and why.
struct Explanation {
    std::string config;     // "algorithm=ring,segment_bytes=64K,..."
    std::string algorithm;  // "ring"
    std::string source;     // "default", "tuned", "forced"
    std::string match;      // "exact", "interval", "none"
    std::string reason;     // "row 12 covers 8 B .. 512 B"
    double gain = 1;        // time of the default divided by the time of this config, as published
    long row = -1;          // of the table; -1 = none
};

// What beats the environment. Empty = as the environment says.
struct Options {
    std::string database;  // a release to use instead of the default paths (ATTUNE_DB)
    std::string mode;      // "use", "off", "require" (ATTUNE_DB_MODE)
    std::string force;     // "all_reduce=ring,segment_bytes=64K;broadcast=binomial" (ATTUNE_FORCE)
    std::string log;       // "error", "warn", "info", "debug" (ATTUNE_LOG)
};

namespace detail {
struct Job;
struct PreparedCall;
}  // namespace detail

// A started call. Its buffers must live and stay untouched until it is done. The destructor waits for it.
class ATTUNE_EXPORT Request {
public:
    Request() noexcept = default;  // done
    Request(Request&& other) noexcept;
    Request& operator=(Request&& other) noexcept;
    ~Request();

    bool done();  // moves all calls of the communicator on
    void wait();

private:
    friend class Communicator;
    friend class Prepared;
    friend ATTUNE_EXPORT std::size_t wait_any(std::span<Request> requests);
    Request(std::shared_ptr<detail::Job> job, std::uint64_t ticket) noexcept;
    void finish() noexcept;

    std::shared_ptr<detail::Job> job_;
    std::uint64_t ticket_ = 0;
};

// A call compiled once for the same buffers, which must live as long as it is used. Starting it is collective like any call and allocates nothing.
class ATTUNE_EXPORT Prepared {
public:
    [[nodiscard]] Request start();
    void run();

private:
    friend class Communicator;
    Prepared(std::shared_ptr<detail::Job> job, std::shared_ptr<const detail::PreparedCall> call) noexcept;

    std::shared_ptr<detail::Job> job_;
    std::shared_ptr<const detail::PreparedCall> call_;
};

// What Communicator::tune() found.
struct Tuned {
    bool applied = false;  // proven faster: this communicator uses it from the next call on
    std::string config;    // the fastest found
    std::string baseline;  // what would have run
    double gain = 1;       // time of the baseline divided by the time of `config`: median of paired blocks, with its 99 % interval
    double gain_low = 1, gain_high = 1;
    std::uint64_t candidates = 0, measured = 0, blocks = 0;  // in the space; tried; of the proof
    double seconds = 0;
    std::string reason;  // why nothing was applied; empty when it was
};

// The ranks of a job. Calls are collective and in the same order on all ranks; up to four may be in flight. Not thread-safe. Throws attune::Error.
// The calls themselves are the methods of CallMethods: team.all_reduce(input, output, count, attune::Op::max).
class ATTUNE_EXPORT Communicator : public CallMethods<Communicator> {
public:
    // Collective. As a rank of attune-run it meets the others; started without a launcher it is alone.
    explicit Communicator(const Options& options = {});
    ~Communicator();
    Communicator(Communicator&&) noexcept;
    Communicator& operator=(Communicator&&) noexcept;

    int rank() const;
    int size() const;
    // "communicator 2 of ranks 0,2", as in messages; empty for the first of a process.
    std::string label() const;

    // Collective: a communicator for the ranks of each color, ordered by key and then by rank. Nothing for a negative color. It may outlive this
    // one, both may be used at once, and calls of all communicators of a thread move each other on.
    std::optional<Communicator> split(int color, int key = 0);
    Communicator dup();

    // Collective: another release for this communicator alone. Throws Error 3 when there is none or it holds nothing for this team, 4 when it is damaged; then
    // everything stays as it was.
    void load_database(const std::string& path);
    // On all ranks at the same point: back to the defaults.
    void forget_database();
    // Collective: measures other configurations of the call against the present one on these ranks for about so long, and keeps one for this
    // communicator when it is proven faster. Takes buffers of its own. Needs all ranks on one machine.
    Tuned tune(const Call& call, std::chrono::seconds budget);

    // The calls that all others are made of. In place: input == output.
    Request start(const Call& call, const void* input, void* output);
    void run(const Call& call, const void* input, void* output);
    Request start(const BoundCall& call) { return start(call.call, call.input, call.output); }
    void run(const BoundCall& call) { run(call.call, call.input, call.output); }
    // For the same call on the same buffers again and again: team.prepare(attune::calls::all_reduce(buffer, count)). Sends nothing.
    Prepared prepare(const BoundCall& call);

    Explanation explain(const Call& call) const;
    // "1200 calls: 25 % exact, 50 % interval, 25 % default; ..."; rank 0 prints it at the end with ATTUNE_LOG=info.
    std::string summary() const;
    std::string table_origin() const;  // database files in use, empty = none

private:
    friend class Group;
    explicit Communicator(std::shared_ptr<detail::Job> job) noexcept;

    std::shared_ptr<detail::Job> job_;
};

}  // namespace attune

#include <attune/group.hpp>
