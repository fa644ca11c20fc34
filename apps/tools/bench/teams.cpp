#include "apps/tools/bench/teams.hpp"

#include "libcore/error.hpp"
#include "tuner/arena_factory.hpp"

#include <string>

namespace attune::tools::bench {

bool same_team(const tuner::TeamOptions& a, const tuner::TeamOptions& b) {
    return a.ranks == b.ranks && a.transport == b.transport && a.node_map == b.node_map && a.bind == b.bind;
}

tuner::Arena& LaunchedTeams::team(const tuner::TeamOptions& options) {
    return arena_ && arena_->alive() && same_team(options_, options) ? *arena_ : fresh(options);
}

tuner::Arena& LaunchedTeams::fresh(const tuner::TeamOptions& options) {
    arena_.reset();  // the old team's processors are free before the new one starts
    arena_ = tuner::launch_process_arena(options);
    options_ = options;
    return *arena_;
}

tuner::Arena& JobTeam::team(const tuner::TeamOptions& options) {
    if (options.ranks != ranks_) {
        throw core::Error(core::ErrorCode::usage, "-n " + std::to_string(options.ranks) + " differs from the job's " + std::to_string(ranks_) +
                                                      " ranks; leave -n out inside attune-run");
    }
    if (!arena_.alive()) throw core::Error(core::ErrorCode::failure, "the job cannot go on after a failed call; start it again");
    return arena_;
}

tuner::Arena& JobTeam::fresh(const tuner::TeamOptions&) {
    throw core::Error(core::ErrorCode::usage, "fresh launches are not possible inside attune-run; run attune-bench --rows by itself");
}

}  // namespace attune::tools::bench
