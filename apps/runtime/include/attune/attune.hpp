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

#include <cstdint>
#include <memory>
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
    std::shared_ptr<detail::Job> job_;
};

}  // namespace attune
