// The inside of a communicator: team, transport, executor, chooser, cached calls and what they took.
#pragma once

#include "collectives/call_cache.hpp"
#include "collectives/communicator.hpp"
#include "collectives/group_bootstrap.hpp"
#include "collectives/table_agreement.hpp"
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

// Numbers of configs in CallKey: explicit ones count from 1, choosers from here.
inline constexpr std::uint32_t first_chooser_number = std::uint32_t{1} << 31;

// Ranks of a communicator that are to be one of their own, in its order.
struct Group {
    std::vector<Rank> members;  // empty: this rank is in none
    std::uint64_t number = 0;
    std::uint64_t next_number = 0;  // after those of all groups made at once
};
struct Wish {
    std::int64_t color = 0, key = 0;
    std::uint64_t next_number = 0;  // free in the rank's family
};
// The group that `rank` belongs to, from the wishes of all ranks. Pure.
Group group_of(const std::vector<Wish>& wishes, Rank rank);

// The choice of a caller who brings the config along.
Choice explicit_choice(const core::Config& config);

struct Communicator::State {
    ~State();  // says when a message of another rank was never read
    // `ranks`: of the members in the communicator that the bootstrap made; empty for that one itself.
    State(CommunicatorOptions given, TeamFacts agreed, std::unique_ptr<Transport> made, std::vector<Rank> ranks = {});
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    // Compiles. Throws Error(usage) when the config cannot run the problem here. `problem` is complete.
    CachedCall make_call(const Problem& problem, const core::Config& config, std::uint32_t number, const Choice& choice);
    // From the cache, or compiled with the chosen or the explicit config.
    const CachedCall& chosen_call(const Problem& problem);
    const CachedCall& explicit_call(const Problem& problem, const core::Config& config);
    Ticket launch(const CachedCall& call, const void* input, void* output);
    void finish(Ticket ticket);  // of what launch() has just returned
    void finished(Ticket ticket);

    Problem complete(Problem problem) const;
    std::uint32_t number_of(const core::Config& config);
    void use_table(TableResult result);
    void notice(const std::string& line) const;
    void print_warnings(const TableResult& result) const;  // by rank 0
    void use(std::shared_ptr<const Chooser> next);
    // For set-up, also before there is a chooser; blocking. Sizes are multiples of 8.
    void broadcast_bytes(void* bytes, std::uint64_t size);
    void all_gather_bytes(const void* own, void* all, std::uint64_t size);
    Exchange exchange();
    // Collective, when ranks have different clocks and one traces: tells the trace how far the own clock is from rank 0's.
    void compare_clocks();
    ParentTeam as_parent();
    std::unique_ptr<Communicator> split(int color, int key);
    CallStatistics statistics() const;

    CommunicatorOptions options;
    TeamFacts facts;
    std::unique_ptr<Transport> transport;
    std::unique_ptr<core::StepTrace> steps;  // null when nobody wants them
    std::unique_ptr<Executor> executor;
    std::shared_ptr<const Chooser> chooser;
    std::string origin;
    CallCache cache;
    std::string label;  // empty for the first communicator of a family
    // Of the bootstrap; children meet with them again.
    std::string address;
    std::optional<core::Digest> secret;
    std::uint64_t number = 1;
    std::vector<Rank> first_ranks;  // of the members in that first one

private:
    std::unique_ptr<Communicator> make_child(const Group& group, Bootstrap& bootstrap);
    CachedCall standard_call(Problem problem, std::string purpose);
    core::ClockOffset offset_of(Rank other);
    void run_uncounted(const CachedCall& call, const void* input, void* output);
    void compare_calls(const CachedCall& call);

    // A started call whose end is not known yet; element call mod 4.
    struct Pending {
        std::uint64_t call = 0;
        std::int64_t begin_ns = 0;
        CallTotals* totals = nullptr;
        std::string config;
        std::uint64_t bytes = 0;
    };
    // Chosen configs have the number of the chooser they come from, so that a new one finds no call of an old one.
    std::uint32_t chooser_number_ = first_chooser_number;
    std::map<std::string, std::uint32_t> config_numbers_;
    core::Config last_config_;
    std::uint32_t last_number_ = 0;
    bool timing_ = false;
    std::array<Pending, in_flight_slots> pending_;
    std::optional<CachedCall> check_call_;
    std::vector<CheckRecord> checks_;  // of all ranks
};

}  // namespace attune::collectives
