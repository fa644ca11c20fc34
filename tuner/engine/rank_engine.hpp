// What one rank of an arena does with the commands it gets: load, check, sample, ping.
#pragma once

#include "collectives/communicator.hpp"
#include "tuner/engine/buffer_ring.hpp"
#include "tuner/engine/command.hpp"
#include "tuner/engine/meeting.hpp"

#include <cstdint>
#include <functional>
#include <optional>

namespace attune::tuner::engine {

// One candidate of the loaded work, as the parts of the engine call it. `run` is one whole call of this rank; `back`, when not empty, the answer that a
// timed call includes (ping-pong).
struct Candidate {
    const collectives::Problem& problem;  // global
    BufferRing& buffers;
    std::function<void(const void* input, void* output)> run;
    std::function<void(const void* input, void* output)> back = {};

    std::uint64_t legs() const noexcept { return back ? 2 : 1; }
};

// All ranks execute the same commands in the same order. Not thread-safe; one per rank.
class RankEngine {
public:
    RankEngine(collectives::Communicator& communicator, Meeting& meeting, std::uint64_t cache_bytes)
        : communicator_(communicator), meeting_(meeting), cache_bytes_(cache_bytes) {}

    // Never throws: a failure becomes a reply with outcome `failed`, and the other ranks stop waiting.
    Reply execute(const Command& command) noexcept;

private:
    void load(const Command& command);
    Candidate candidate_of(const core::Config& config);

    collectives::Communicator& communicator_;
    Meeting& meeting_;
    std::uint64_t cache_bytes_;
    Work work_;
    collectives::Problem own_;   // this rank's view of the problem
    collectives::Problem back_;  // the same with destination and source exchanged
    std::optional<BufferRing> buffers_;
};

void check(const Candidate& candidate, Meeting& meeting, Reply& reply);
void sample(const Candidate& candidate, Meeting& meeting, const Command& command, Reply& reply);
void ping(Meeting& meeting, Reply& reply);
void copy_limit(Meeting& meeting, std::uint64_t bytes, Reply& reply);

}  // namespace attune::tuner::engine
