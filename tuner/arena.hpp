// Something the tuner can tune, and a live team that can run any of its candidates in alternation.
#pragma once

#include "collectives/problem.hpp"
#include "libcore/config.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace attune::tuner {

// Candidates of one problem. Index 0 is the default. Problems with amounts are global: they hold those of all ranks (collectives::view_of).
struct Work {
    collectives::Problem problem;
    std::vector<core::Config> configs;
    bool and_back = false;  // send_recv: a timed call is one there and one back (ping-pong), a time half of it
};

enum class CheckOutcome : std::uint8_t { ok, wrong, failed, timeout };
struct CheckResult {
    CheckOutcome outcome = CheckOutcome::ok;
    std::uint64_t wrong = 0;  // elements that differ from the exact result, guard bytes and differences between ranks included
    std::string message;
};

enum class CacheMode : std::uint8_t { hot, rotate };              // the same buffers, or a ring of buffers larger than the caches
enum class StartMode : std::uint8_t { synchronized, streaming };  // common start per iteration, or back to back
// How ranks arrive: together; each at a random time; one rank late, in turns; rank by rank. The latest comes `skew_ns` after the common start.
enum class Skew : std::uint8_t { none, uniform, one_late, ramp };

struct SampleOptions {
    std::uint64_t iterations = 10;
    std::uint64_t warm_up = 1;
    std::uint64_t batch = 0;  // calls per iteration; 0 = chosen so that an iteration lasts at least 10 us (from the warm-up)
    CacheMode cache = CacheMode::hot;
    StartMode start = StartMode::synchronized;
    Skew skew = Skew::none;  // with another one than none, calls are never batched
    std::int64_t skew_ns = 20'000;
    std::uint64_t seed = 1;  // of random arrivals
    bool per_rank = false;   // fill rank_ns
};
struct SampleResult {
    CheckOutcome outcome = CheckOutcome::ok;
    std::string message;
    std::vector<double> ns;  // per call: of each iteration the time from the last rank's start to the last rank's end, divided by batch
    std::uint64_t batch = 1;
    std::vector<std::vector<double>> rank_ns;  // by rank: per call, from its own start to its own end; empty unless asked for
};

// The samples of `more`, taken with the same options, behind those of `result`; its outcome is the newer one.
void append(SampleResult& result, const SampleResult& more);

// One launch: fresh processes, segments and buffers. After an outcome failed or timeout the team is dead and the arena must be remade.
class Arena {
public:
    virtual ~Arena() = default;
    virtual void load(const Work& work) = 0;
    virtual CheckResult check(std::size_t index) = 0;
    virtual SampleResult sample(std::size_t index, const SampleOptions& options) = 0;
    // Median time in which every rank copies `bytes` of its own memory, all at once: what moving that much cannot beat, ns. 0 for no bytes.
    virtual double copy_ns(std::uint64_t /*bytes*/) { return 0; }
    // Largest cache-line round trip between ring neighbours, ns; 0 with one rank or more ranks than CPUs.
    virtual double ping() = 0;
    virtual bool oversubscribed() const = 0;
    virtual bool bound() const = 0;
    virtual std::string launch() const = 0;  // unique id
    virtual bool alive() const = 0;
    // Asked while commands run: once true, the command in hand fails and the team is dead. Nothing asks it of ranks that are not ours.
    virtual void stop_when(std::function<bool()> /*interrupted*/) {}
    // A trial is capped; a call over it kills the team and answers timeout.
    virtual void set_cap_ns(std::int64_t cap) = 0;
};

struct TeamOptions {
    int ranks = 2;
    std::string transport = "shm";
    std::string node_map;
    bool bind = true;
    std::int64_t timeout_ns = 60'000'000'000;
};

class Target {
public:
    virtual ~Target() = default;
    virtual std::string name() const = 0;  // "collective"
    virtual std::unique_ptr<Arena> launch(const TeamOptions& options) = 0;
    // Space of a problem: index 0 is the default (candidate zero), then every other applicable config, no duplicates.
    virtual std::vector<core::Config> candidates(const collectives::Problem& problem) = 0;
    // candidates().front(), without the cost of enumerating the rest.
    virtual core::Config default_of(const collectives::Problem& problem) { return candidates(problem).front(); }
};

}  // namespace attune::tuner
