// What a repeated call needs, found by a small key: the compiled plan, its digest and text, and where its time is added up.
#pragma once

#include "collectives/chooser.hpp"
#include "collectives/plan.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

namespace attune::collectives {

// Everything of a call that may differ within one communicator. `config`: number of an explicit config or of the chooser that chose.
struct CallKey {
    std::uint64_t count = 0;
    std::int32_t root = 0;
    std::uint32_t config = 0;
    Collective collective = Collective::all_reduce;
    core::DType dtype = core::DType::float32;
    core::Op op = core::Op::sum;
    bool in_place = false;
    std::shared_ptr<const Amounts> amounts = nullptr;

    // Contents of the amounts.
    friend bool operator==(const CallKey& a, const CallKey& b) noexcept;
};
// Fields that do not matter to the collective (the root of an all_reduce, the operator of a broadcast) do not tell calls apart.
CallKey key_of_call(const Problem& problem, std::uint32_t config) noexcept;

struct CallKeyHash {
    std::size_t operator()(const CallKey& key) const noexcept;
};

// Time and number of the calls of one key; outlives the plan.
struct CallTotals {
    Problem problem;  // with the amounts of the first
    ChoiceSource source = ChoiceSource::standard;
    Match match = Match::none;
    std::uint64_t calls = 0;
    std::uint64_t timed_calls = 0;
    std::int64_t timed_ns = 0;
};

struct CachedCall {
    std::shared_ptr<const Plan> plan;
    std::uint64_t digest = 0;  // of everything that must be equal on all ranks
    std::string text;          // what other ranks print
    std::string config;        // canonical text
    bool in_place = false;
    std::uint64_t input_bytes = 0;  // of this rank's buffers, 0 = not looked at; in place both are the one buffer's
    std::uint64_t output_bytes = 0;
    std::uint64_t bytes = 0;  // Problem::bytes()
    CallTotals* totals = nullptr;
    std::uint64_t size = 0;  // bytes of memory, about
    std::uint64_t last_used = 0;
};

// Least recently used out. Not thread-safe.
class CallCache {
public:
    static constexpr std::size_t plan_limit = 1024;
    static constexpr std::uint64_t byte_limit = std::uint64_t{16} << 20;

    // Null when the call must be prepared. What it points at lives until the next insert().
    const CachedCall* find(const CallKey& key) noexcept;
    const CachedCall* insert(const CallKey& key, CachedCall call);
    // Of the problem's key, made when new. Stable for the life of the cache. Calls that differ in their amounts only have one, and so have all of a
    // collective beyond totals_limit: a program that never makes a call twice must not grow for ever.
    CallTotals& totals(CallKey key, const Problem& problem, const Choice& choice);
    static constexpr std::size_t totals_limit = 8192;

    std::size_t size() const noexcept { return calls_.size(); }
    std::uint64_t bytes() const noexcept { return bytes_; }
    const std::unordered_map<CallKey, CallTotals, CallKeyHash>& all_totals() const noexcept { return totals_; }

private:
    void make_room(std::uint64_t bytes);

    std::unordered_map<CallKey, CachedCall, CallKeyHash> calls_;
    std::unordered_map<CallKey, CallTotals, CallKeyHash> totals_;
    CallKey last_key_;
    CachedCall* last_ = nullptr;
    std::uint64_t bytes_ = 0;
    std::uint64_t clock_ = 0;
};

}  // namespace attune::collectives
