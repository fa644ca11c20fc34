// Proves schedule sets and plan sets by one symbolic walk: the postcondition of every element, matching, ranges, reads before writes, conflicts
// between channels, agreement of reduction trees, and freedom from deadlock under four models of sending.
#pragma once

#include "collectives/plan.hpp"
#include "collectives/schedule.hpp"

#include <memory>
#include <optional>
#include <span>
#include <string>

namespace attune::collectives {

enum class SendModel : std::uint8_t {
    buffered,    // a send never waits
    rendezvous,  // a send is done when its receiver reads it
    windowed,    // one fragment per peer and channel, every message in three fragments; a multicast fragment is freed when all peers read it
    put_posted,  // the sender writes into the slice its receiver posted at call start, or when its turn comes
};

// Keeps its memory between proofs; for many of them one after the other. Not thread-safe.
class Verifier {
public:
    Verifier();
    ~Verifier();
    std::optional<std::string> refute(const Problem& problem, std::span<const Schedule> schedules);
    std::optional<std::string> refute(const Problem& problem, std::span<const Plan> plans);

private:
    struct State;
    std::unique_ptr<State> state_;
};

// Nothing when proved, else one line: rank, step, what is wrong. `schedules[r]` belongs to rank r. All four models, postcondition and agreement.
// Throws Error(usage) when the ranks' buffers together exceed 2^26 elements.
std::optional<std::string> refute(const Problem& problem, std::span<const Schedule> schedules);
std::optional<std::string> refute(const Problem& problem, std::span<const Plan> plans);

}  // namespace attune::collectives
