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
    InJobArena(engine::SharedArea area, const TeamOptions& options, const Seat& seat, bool oversubscribed)
        : ArenaDriver(std::move(area), options.timeout_ns),
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

// Rank 0 makes the area, the others get its descriptor over the bootstrap.
engine::SharedArea share_area(collectives::Bootstrap& bootstrap) {
    std::optional<engine::SharedArea> own;
    std::vector<int> descriptors;
    if (bootstrap.rank() == 0) {
        own.emplace(engine::SharedArea::create(bootstrap.size()));
        descriptors.push_back(own->descriptor());
    }
    const std::vector<collectives::Contribution> all = bootstrap.all_gather({}, descriptors);
    if (bootstrap.rank() != 0) own.emplace(engine::SharedArea::attach(all.front().descriptors.at(0), bootstrap.size()));
    for (const collectives::Contribution& contribution : all) {
        for (const int descriptor : contribution.descriptors)
            ::close(descriptor);
    }
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

}  // namespace

int run_in_job(collectives::Bootstrap& bootstrap, const TeamOptions& options, const std::function<int(Arena&)>& drive) {
    if (options.transport == "local") {
        throw core::Error(core::ErrorCode::usage, "transport 'local' is one process with threads; inside attune-run use --transport shm");
    }
    const bool oversubscribed = job_oversubscribed(bootstrap.size());
    Communicator communicator(bootstrap, options_of(options, oversubscribed));
    engine::SharedArea area = share_area(bootstrap);
    const core::Topology topology = core::discover_topology();
    engine::Meeting meeting(area, bootstrap.rank(), oversubscribed, options.timeout_ns);
    engine::RankEngine engine(communicator, meeting, std::max(topology.l3_bytes, topology.l2_bytes));
    const Seat seat{communicator, engine};
    if (bootstrap.rank() == 0) {
        InJobArena arena(engine::SharedArea::attach(area.descriptor(), bootstrap.size()), options, seat, oversubscribed);
        return drive_to_the_end(arena, drive);
    }
    Command command;
    do {
        seat.execute(command);
    } while (command.kind != CommandKind::quit);
    return 0;
}

}  // namespace attune::tuner
