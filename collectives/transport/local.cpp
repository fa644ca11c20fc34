// Ranks that are threads of one process: the segments are anonymous memory.
#include "collectives/transport/ring_transport.hpp"
#include "libcore/error.hpp"

#include <string>

#include <unistd.h>

namespace attune::collectives {

std::vector<std::unique_ptr<Transport>> make_local_transports(int ranks, const TransportOptions& options) {
    const RingLayout layout = RingLayout::make(ranks, options);
    const auto memory = std::make_shared<std::vector<Mapping>>();
    std::vector<std::byte*> segments;
    for (int rank = 0; rank < ranks; ++rank) {
        memory->emplace_back(layout.segment_bytes());
        if (memory->back().data() == nullptr) {
            throw core::Error(core::ErrorCode::failure, "cannot map " + std::to_string(layout.segment_bytes()) + " bytes for rank " + std::to_string(rank) +
                                                            "; start fewer ranks or allow less staging memory");
        }
        segments.push_back(memory->back().data());
    }
    std::vector<std::unique_ptr<Transport>> transports;
    for (Rank rank = 0; rank < ranks; ++rank) {
        RingTeam team{layout, rank, "local", options.oversubscribed, segments, memory, {}, {}, {}};
        if (!options.direct_copies) team.direct_refusal = "direct copies are switched off for this team";
        team.processes.assign(static_cast<std::size_t>(ranks), getpid());
        transports.push_back(std::make_unique<RingTransport>(std::move(team)));
    }
    return transports;
}

}  // namespace attune::collectives
