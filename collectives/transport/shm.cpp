// Ranks that are processes of one machine: every segment is a memfd that all map. Nothing has a name in the file system.
#include "collectives/bootstrap.hpp"
#include "collectives/transport/process_memory.hpp"
#include "collectives/transport/ring_transport.hpp"
#include "libcore/error.hpp"
#include "libcore/file.hpp"

#include <cerrno>
#include <cstring>
#include <span>
#include <string>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace attune::collectives {

namespace {

// What each rank tells the others beside its descriptor; the layouts must be equal.
struct Introduction {
    std::int64_t process = 0;
    RingLayout layout;
    std::uint64_t probe = 0;  // address of a ProbeTarget
};

[[noreturn]] void fail(const std::string& what, const std::string& remedy) {
    throw core::Error(core::ErrorCode::failure, what + ": " + std::strerror(errno) + "; " + remedy);
}

core::UniqueFd create_segment(std::uint64_t bytes) {
    core::UniqueFd segment(memfd_create("attune", MFD_CLOEXEC));
    if (segment.get() < 0) fail("cannot create a shared segment", "use transport=local");
    if (ftruncate(segment.get(), static_cast<off_t>(bytes)) != 0) {
        fail("cannot size a shared segment of " + std::to_string(bytes) + " bytes", "allow less staging memory");
    }
    return segment;
}

Introduction introduction_of(const Contribution& contribution, Rank rank) {
    Introduction introduction;
    if (contribution.bytes.size() != sizeof(introduction) || contribution.descriptors.size() != 1) {
        throw core::Error(core::ErrorCode::failure, "rank " + std::to_string(rank) + " did not pass one segment; run the same build on every rank");
    }
    if (contribution.descriptors.front() < 0)
        throw core::Error(core::ErrorCode::usage,
                          "rank " + std::to_string(rank) + " is on another host, where shared memory does not reach; use transport=mixed");
    std::memcpy(&introduction, contribution.bytes.data(), sizeof(introduction));
    return introduction;
}

void check_layout(const RingLayout& own, const RingLayout& other, Rank rank) {
    if (own == other) return;
    const auto text = [](const RingLayout& layout) {
        return std::to_string(layout.ranks) + " ranks, " + std::to_string(layout.channels) + " channels, " + std::to_string(layout.fragment_bytes) +
               "-byte fragments";
    };
    throw core::Error(core::ErrorCode::failure, "rank " + std::to_string(rank) + " laid out its segment for " + text(other) + ", this rank for " + text(own) +
                                                    "; pass equal transport options on every rank");
}

// The descriptors are ours to close whatever happens.
std::vector<core::UniqueFd> own(const std::vector<Contribution>& contributions) {
    std::vector<core::UniqueFd> owned;
    for (const Contribution& contribution : contributions) {
        for (const int number : contribution.descriptors)
            owned.emplace_back(number);
    }
    return owned;
}

}  // namespace

std::unique_ptr<Transport> make_shm_transport(Bootstrap& bootstrap, const TransportOptions& options) {
    const ProbeTarget target;
    const Introduction mine{getpid(), RingLayout::make(bootstrap.size(), options), target.address()};
    const core::UniqueFd segment = create_segment(mine.layout.segment_bytes());
    const int number = segment.get();
    const std::vector<Contribution> all = bootstrap.all_gather(std::as_bytes(std::span(&mine, 1)), std::span(&number, 1));
    const std::vector<core::UniqueFd> descriptors = own(all);
    const auto memory = std::make_shared<std::vector<Mapping>>();
    RingTeam team{mine.layout, bootstrap.rank(), "shm", options.oversubscribed, {}, memory, {}, {}, {}};
    std::vector<std::uint64_t> targets;
    for (Rank rank = 0; rank < bootstrap.size(); ++rank) {
        const Contribution& contribution = all[static_cast<std::size_t>(rank)];
        const Introduction introduction = introduction_of(contribution, rank);
        check_layout(mine.layout, introduction.layout, rank);
        memory->emplace_back(mine.layout.segment_bytes(), contribution.descriptors.front());
        if (memory->back().data() == nullptr) fail("cannot map the segment of rank " + std::to_string(rank), "allow less staging memory");
        team.segments.push_back(memory->back().data());
        team.processes.push_back(introduction.process);
        targets.push_back(introduction.probe);
        team.pidfds.emplace_back(static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(introduction.process), 0)));
    }
    const ProbeResult result = options.direct_copies ? probe_memories(bootstrap.rank(), team.processes, targets) : ProbeResult::switched_off();
    team.direct_refusal = agree_on_probes(bootstrap, result);
    return std::make_unique<RingTransport>(std::move(team));
}

}  // namespace attune::collectives
