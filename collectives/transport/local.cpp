// Ranks that are threads of one process: the segments are anonymous memory.
#include "collectives/bootstrap.hpp"
#include "collectives/transport/ring_transport.hpp"
#include "libcore/error.hpp"

#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>

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

namespace {

// Where rank 0 keeps what it made until everybody has taken a part: an address that only threads of one process understand.
struct Nursery {
    std::int64_t process = 0;
    std::vector<std::unique_ptr<Transport>>* transports = nullptr;
};

// Rank 0's; nothing on all ranks when they are not all of one process.
std::optional<Nursery> nursery_of(const std::vector<Contribution>& contributions) {
    std::vector<Nursery> nurseries(contributions.size());
    for (std::size_t rank = 0; rank < contributions.size(); ++rank) {
        if (contributions[rank].bytes.size() != sizeof(Nursery)) return {};
        std::memcpy(&nurseries[rank], contributions[rank].bytes.data(), sizeof(Nursery));
        if (nurseries[rank].process != getpid()) return {};
    }
    return nurseries.front();
}

}  // namespace

std::unique_ptr<Transport> make_local_transport(Bootstrap& bootstrap, const TransportOptions& options) {
    // Never freed when the exchange fails: another thread may be about to take its part.
    auto made = std::make_unique<std::vector<std::unique_ptr<Transport>>>();
    if (bootstrap.rank() == 0) *made = make_local_transports(bootstrap.size(), options);
    const Nursery own{getpid(), made.get()};
    std::vector<std::unique_ptr<Transport>>* const kept = made.release();
    const std::optional<Nursery> nursery = nursery_of(bootstrap.all_gather(std::as_bytes(std::span(&own, 1)), {}));
    if (!nursery) {
        delete kept;
        throw core::Error(core::ErrorCode::usage,
                          "transport 'local' is for threads of one process, but there are " + std::to_string(bootstrap.size()) + " processes; use shm");
    }
    std::unique_ptr<Transport> transport = std::move((*nursery->transports)[static_cast<std::size_t>(bootstrap.rank())]);
    bootstrap.all_gather({}, {});
    delete kept;
    return transport;
}

}  // namespace attune::collectives
