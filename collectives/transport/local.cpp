// Ranks that are threads of one process: the segments are anonymous memory.
#include "collectives/bootstrap.hpp"
#include "collectives/transport/ring_transport.hpp"
#include "libcore/error.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
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

// Where rank 0 puts what it made; the rank that takes the last part frees it.
struct Nursery {
    std::vector<std::unique_ptr<Transport>> transports;
    std::atomic<std::size_t> left;

    explicit Nursery(std::vector<std::unique_ptr<Transport>> made) : transports(std::move(made)), left(transports.size()) {}
};

// The word of each rank. Throws Error(failure) when one has sent something else.
std::vector<std::uint64_t> exchange_words(Bootstrap& bootstrap, std::uint64_t own) {
    std::vector<std::uint64_t> words;
    for (const Contribution& contribution : bootstrap.all_gather(std::as_bytes(std::span(&own, 1)), {})) {
        if (contribution.bytes.size() != sizeof own)
            throw core::Error(core::ErrorCode::failure, "a rank did not pass what transport 'local' needs; run the same build on every rank");
        std::memcpy(&words.emplace_back(), contribution.bytes.data(), sizeof own);
    }
    return words;
}

void require_one_process(Bootstrap& bootstrap) {
    const auto own = static_cast<std::uint64_t>(getpid());
    const std::vector<std::uint64_t> processes = exchange_words(bootstrap, own);
    if (std::ranges::all_of(processes, [own](std::uint64_t process) { return process == own; })) return;
    throw core::Error(core::ErrorCode::usage,
                      "transport 'local' is for threads of one process, but there are " + std::to_string(bootstrap.size()) + " processes; use shm");
}

// The same on all ranks: an address that only threads of one process understand.
Nursery* shared_nursery(Bootstrap& bootstrap, const TransportOptions& options) {
    std::unique_ptr<Nursery> made;
    if (bootstrap.rank() == 0) made = std::make_unique<Nursery>(make_local_transports(bootstrap.size(), options));
    try {
        const std::vector<std::uint64_t> addresses = exchange_words(bootstrap, reinterpret_cast<std::uintptr_t>(made.get()));
        (void)made.release();  // by now its parts are counted
        return reinterpret_cast<Nursery*>(static_cast<std::uintptr_t>(addresses.front()));
    } catch (...) {
        // Where another rank may have got the address it is about to take its part.
        if (!bootstrap.fails_everywhere()) (void)made.release();
        throw;
    }
}

}  // namespace

std::unique_ptr<Transport> make_local_transport(Bootstrap& bootstrap, const TransportOptions& options) {
    require_one_process(bootstrap);
    Nursery* const nursery = shared_nursery(bootstrap, options);
    std::unique_ptr<Transport> transport = std::move(nursery->transports[static_cast<std::size_t>(bootstrap.rank())]);
    if (nursery->left.fetch_sub(1) == 1) delete nursery;
    return transport;
}

}  // namespace attune::collectives
