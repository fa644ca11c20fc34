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

// All ranks execute the same commands in the same order. Not thread-safe; one per rank.
class RankEngine {
public:
    RankEngine(collectives::Communicator& communicator, Meeting& meeting, std::uint64_t cache_bytes)
        : communicator_(communicator), meeting_(meeting), cache_bytes_(cache_bytes) {}

    // Never throws: a failure becomes a reply with outcome `failed`, and the other ranks stop waiting.
    Reply execute(const Command& command) noexcept;

private:
    void load(const Command& command);

    collectives::Communicator& communicator_;
    Meeting& meeting_;
    std::uint64_t cache_bytes_;
    Work work_;
    std::optional<BufferRing> buffers_;
};

// One candidate of the loaded work, as the parts of the engine call it. `run` is one whole call of this rank.
struct Candidate {
    const collectives::Problem& problem;
    BufferRing& buffers;
    std::function<void(const void* input, void* output)> run;
};

void check(const Candidate& candidate, Meeting& meeting, Reply& reply);
void sample(const Candidate& candidate, Meeting& meeting, const Command& command, Reply& reply);
void ping(Meeting& meeting, Reply& reply);

}  // namespace attune::tuner::engine
