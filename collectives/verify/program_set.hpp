// What the verifier works on: schedules or plans of all ranks lowered to one flat form. Every send and every fold is an action; slices are element
// addresses in one address space per rank, in which in-place aliasing is already resolved.
#pragma once

#include "collectives/plan.hpp"
#include "collectives/schedule.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attune::collectives::verify {

// Why something is not proved; nothing means it holds.
using Refutation = std::optional<std::string>;

inline constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

struct Action {
    bool is_send = false;
    bool scale = false;                    // fold
    Protocol protocol = Protocol::staged;  // of its messages; schedules have no other
    std::uint32_t program = 0;             // rank * channels + channel
    std::uint32_t address = 0;             // slice sent, or destination of the fold
    std::uint32_t length = 0;
    std::uint32_t first = 0, count = 0;  // send: messages, one per peer; fold: sources
    std::uint32_t first_hazard = 0, hazard_count = 0;
    std::uint32_t origin = 0;  // index of its first step, or of its operation
    std::uint32_t remote = 0;  // send that is put: address at its receiver

    bool overlaps(const Action& other) const noexcept { return address < other.address + other.length && other.address < address + length; }
    bool same_slice(const Action& other) const noexcept { return address == other.address && length == other.length; }
};

struct Message {
    Rank peer = -1;               // who receives it
    std::uint32_t sender = 0;     // action
    std::uint32_t reader = none;  // action
    std::uint32_t next = none;    // the following message of the same two ranks and channel
};

struct Source {
    Rank peer = -1;             // -1: a local slice
    std::uint32_t address = 0;  // local slices
    std::uint32_t message = none;
};

// Element addresses of one rank: where each buffer begins and how long it is. In place, input and output overlap.
struct Layout {
    std::array<std::uint64_t, 3> base{}, size{};
    std::uint64_t total = 0;
};

struct ProgramSet {
    Problem problem;
    int channels = 1;
    std::vector<Layout> layouts;               // per rank
    std::vector<Action> actions;               // rank after rank, channel after channel, in program order
    std::vector<std::uint32_t> program_begin;  // actions of program i: [program_begin[i], program_begin[i + 1])
    std::vector<Message> messages;
    std::vector<Source> sources;
    std::vector<std::uint32_t> hazards;   // actions: sends that must be over before a fold writes
    bool hazards_listed = false;          // by the plans; for schedules the verifier derives them
    std::span<const Schedule> schedules;  // one of the two is empty; only for messages
    std::span<const Plan> plans;

    std::uint32_t programs() const noexcept { return static_cast<std::uint32_t>(problem.ranks * channels); }
    std::uint32_t program_of(Rank rank, int channel) const noexcept { return static_cast<std::uint32_t>(rank * channels + channel); }
    Rank rank_of(std::uint32_t program) const noexcept { return static_cast<Rank>(program) / channels; }
    Rank rank_of(const Action& action) const noexcept { return rank_of(action.program); }
    int channel_of(std::uint32_t program) const noexcept { return static_cast<int>(program) % channels; }

    void clear();
    // "rank 3 step 7 (send 2 output[0,8) ch0)".
    std::string where(const Action& action) const;
};

// Both check the step or operation contract, ranges and destinations on the way. Throws Error(usage) when the ranks together have more elements than
// a symbolic walk can hold.
Refutation lower(const Problem& problem, std::span<const Schedule> schedules, ProgramSet& set);
Refutation lower(const Problem& problem, std::span<const Plan> plans, ProgramSet& set);

// Shared by the two: problem in range, as many programs as ranks, and not too large.
Refutation check_problem(const Problem& problem, std::size_t programs);
void check_size(const ProgramSet& set);
Refutation check_peer(const ProgramSet& set, Rank rank, Rank peer, std::string_view what);

}  // namespace attune::collectives::verify
