// The inside of a communicator: team, transport, executor, chooser, cached calls and what they took.
#pragma once

#include "collectives/call_cache.hpp"
#include "collectives/communicator.hpp"
#include "collectives/team_facts.hpp"

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace attune::collectives {

// What ranks compare before each call when calls are checked. Whole 64-bit words, so that it travels as int64.
struct CheckRecord {
    std::uint64_t digest = 0;
    char text[104] = {};
};
static_assert(sizeof(CheckRecord) % sizeof(std::int64_t) == 0);

// The choice of a caller who brings the config along.
Choice explicit_choice(const core::Config& config);

struct Communicator::State {
    ~State();  // says when a message of another rank was never read
    State(CommunicatorOptions given, TeamFacts agreed, std::unique_ptr<Transport> made);

    // Compiles. Throws Error(usage) when the config cannot run the problem here. `problem` is complete.
    CachedCall make_call(const Problem& problem, const core::Config& config, std::uint32_t number, const Choice& choice);
    // From the cache, or compiled with the chosen or the explicit config.
    const CachedCall& chosen_call(const Problem& problem);
    const CachedCall& explicit_call(const Problem& problem, const core::Config& config);
    Ticket launch(const CachedCall& call, const void* input, void* output);
    void finished(Ticket ticket);

    Problem complete(Problem problem) const;
    std::uint32_t number_of(const core::Config& config);
    void use_table(TableResult result);  // warnings are printed by rank 0
    // For set-up, before there is a chooser; blocking.
    void broadcast_bytes(void* bytes, std::uint64_t size);
    std::vector<std::uint64_t> all_gather_words(std::uint64_t word);
    CallStatistics statistics() const;

    CommunicatorOptions options;
    TeamFacts facts;
    std::unique_ptr<Transport> transport;
    std::unique_ptr<Executor> executor;
    std::shared_ptr<const Chooser> chooser;
    std::string origin;
    CallCache cache;

private:
    CachedCall standard_call(Problem problem, std::string purpose);
    void run_uncounted(const CachedCall& call, const void* input, void* output);
    void compare_calls(const CachedCall& call);

    // A started call whose end is not known yet; element call mod 4.
    struct Pending {
        std::uint64_t call = 0;
        std::int64_t begin_ns = 0;
        CallTotals* totals = nullptr;
        std::string config;
    };
    std::map<std::string, std::uint32_t> config_numbers_;
    core::Config last_config_;
    std::uint32_t last_number_ = 0;
    bool timing_ = false;
    std::array<Pending, in_flight_slots> pending_;
    std::optional<CachedCall> check_call_;
    std::vector<CheckRecord> checks_;  // of all ranks
};

}  // namespace attune::collectives
