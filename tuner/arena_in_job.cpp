// An arena whose ranks are the processes of the job itself: rank 0 drives, commands are broadcast, replies gathered, over the communicator.
#include "collectives/communicator.hpp"
#include "libcore/environment.hpp"
#include "libcore/error.hpp"
#include "libcore/topology.hpp"
#include "tuner/arena_driver.hpp"
#include "tuner/arena_factory.hpp"
#include "tuner/engine/rank_engine.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <unistd.h>

namespace attune::tuner {

namespace {

using collectives::Collective;
using collectives::Communicator;
using collectives::Problem;
using engine::Command;
using engine::CommandKind;
using engine::Reply;

template <class Record>
Problem words_of(Collective collective, bool in_place) {
    Problem problem;
    problem.collective = collective;
    problem.count = sizeof(Record) / sizeof(std::int64_t);
    problem.dtype = core::DType::int64;
    problem.in_place = in_place;
    return problem;
}

// The side every rank has.
struct Seat {
    Communicator& communicator;
    engine::RankEngine& engine;

    void broadcast(Command& command) const { communicator.run(words_of<Command>(Collective::broadcast, true), &command, &command); }
    std::vector<Reply> gather(const Reply& own) const {
        std::vector<Reply> replies(static_cast<std::size_t>(communicator.size()));
        communicator.run(words_of<Reply>(Collective::all_gather, false), &own, replies.data());
        return replies;
    }
    std::vector<Reply> execute(Command& command) const {
        broadcast(command);
        if (command.kind == CommandKind::quit) return {};
        return gather(engine.execute(command));
    }
};

class InJobArena final : public ArenaDriver {
public:
    InJobArena(engine::SharedArea area, std::int64_t timeout_ns, const Seat& seat, bool oversubscribed)
        : ArenaDriver(std::move(area), timeout_ns),
          seat_(seat),
          oversubscribed_(oversubscribed),
          bound_(!oversubscribed && core::allowed_cpus().cpus.size() == 1) {}

    bool oversubscribed() const override { return oversubscribed_; }
    bool bound() const override { return bound_; }
    void quit() {
        Command command{.kind = CommandKind::quit};
        if (alive_) seat_.execute(command);
    }

private:
    // The executor's own timeout ends a call that hangs; a cap cannot kill the job it runs in.
    Answers exchange(const Command& command, std::int64_t) override {
        Answers answers;
        try {
            Command copy = command;
            answers.replies = seat_.execute(copy);
        } catch (const core::Error& error) {
            answers = {CheckOutcome::failed, error.what(), {}};
        }
        return answers;
    }

    Seat seat_;
    bool oversubscribed_;
    bool bound_;
};

// All ranks learn whether each of them got it.
void require_area(collectives::Bootstrap& bootstrap, bool reached) {
    const std::byte answer{static_cast<unsigned char>(reached ? 1 : 0)};
    for (const collectives::Contribution& contribution : bootstrap.all_gather(std::span(&answer, 1), {})) {
        if (contribution.bytes.at(0) != std::byte{0}) continue;
        throw core::Error(core::ErrorCode::usage,
                          "measuring needs memory that all ranks share, and some are on another machine; tune with ranks of one machine");
    }
}

// Rank 0 makes the area, the others get its descriptor over the bootstrap.
engine::SharedArea share_area(collectives::Bootstrap& bootstrap) {
    std::optional<engine::SharedArea> own;
    std::vector<int> descriptors;
    if (bootstrap.rank() == 0) {
        own.emplace(engine::SharedArea::create(bootstrap.size()));
        descriptors.push_back(own->descriptor());
    }
    const std::vector<collectives::Contribution> all = bootstrap.all_gather({}, descriptors);
    const std::vector<int>& area = all.front().descriptors;
    const bool reached = !area.empty() && area.front() >= 0;
    if (bootstrap.rank() != 0 && reached) own.emplace(engine::SharedArea::attach(area.front(), bootstrap.size()));
    for (const collectives::Contribution& contribution : all) {
        for (const int descriptor : contribution.descriptors)
            if (descriptor >= 0) ::close(descriptor);
    }
    require_area(bootstrap, reached);
    return std::move(*own);
}

bool job_oversubscribed(int ranks) {
    const std::optional<std::string> cpus = core::read_environment().launch_cpus;
    const core::CpuSet set = cpus ? core::CpuSet::parse(*cpus) : core::allowed_cpus();
    return static_cast<std::size_t>(ranks) > set.cpus.size();
}

collectives::CommunicatorOptions options_of(const TeamOptions& options, bool oversubscribed) {
    collectives::CommunicatorOptions result;
    result.transport = options.transport;
    result.node_map = options.node_map;
    result.lanes.oversubscribed = oversubscribed;
    result.execution.timeout_ns = options.timeout_ns;
    return result;
}

// The other ranks end quietly also after a failure: rank 0's status says what happened.
int drive_to_the_end(InJobArena& arena, const std::function<int(Arena&)>& drive) {
    try {
        const int status = drive(arena);
        arena.quit();
        return status;
    } catch (...) {
        arena.quit();
        throw;
    }
}

struct Conditions {
    std::int64_t timeout_ns = 0;
    bool oversubscribed = false;
};

int run_over(Communicator& communicator, collectives::Bootstrap& bootstrap, const Conditions& conditions, const std::function<int(Arena&)>& drive) {
    engine::SharedArea area = share_area(bootstrap);
    const core::Topology topology = core::discover_topology();
    engine::Meeting meeting(area, bootstrap.rank(), conditions.oversubscribed, conditions.timeout_ns);
    engine::RankEngine engine(communicator, meeting, std::max(topology.l3_bytes, topology.l2_bytes));
    const Seat seat{communicator, engine};
    if (bootstrap.rank() == 0) {
        InJobArena arena(engine::SharedArea::attach(area.descriptor(), bootstrap.size()), conditions.timeout_ns, seat, conditions.oversubscribed);
        return drive_to_the_end(arena, drive);
    }
    Command command;
    do {
        seat.execute(command);
    } while (command.kind != CommandKind::quit);
    return 0;
}

}  // namespace

int run_in_job(collectives::Bootstrap& bootstrap, const TeamOptions& options, const std::function<int(Arena&)>& drive) {
    if (options.transport == "local") {
        throw core::Error(core::ErrorCode::usage, "transport 'local' is one process with threads; inside attune-run use --transport shm");
    }
    const bool oversubscribed = job_oversubscribed(bootstrap.size());
    Communicator communicator(bootstrap, options_of(options, oversubscribed));
    return run_over(communicator, bootstrap, {options.timeout_ns, oversubscribed}, drive);
}

int run_on_team(Communicator& team, const std::function<int(Arena&)>& drive) {
    // Ranks that wait for each other without end would never tell: a call that hangs blames its candidate.
    constexpr std::int64_t patience_ns = 60'000'000'000;
    const std::unique_ptr<collectives::Bootstrap> bootstrap = team.make_bootstrap();
    return run_over(team, *bootstrap, {patience_ns, team.transport().oversubscribed()}, drive);
}

}  // namespace attune::tuner
