#include "collectives/verifier.hpp"

#include "collectives/verify/checks.hpp"
#include "collectives/verify/program_set.hpp"
#include "collectives/verify/trees.hpp"
#include "collectives/verify/walk.hpp"
#include "collectives/verify/windowed.hpp"

namespace attune::collectives {

struct Verifier::State {
    verify::ProgramSet set;
    verify::Matching matching;
    verify::Overwrites overwrites;
    verify::DirectMessages direct;
    verify::ChannelConflicts conflicts;
    verify::Trees trees;
    verify::Walk walk;
    verify::Windowed windowed;

    // The models: rendezvous by the walk, and with it buffered and put_posted, whose waits are among its waits; the race that only a posted put has
    // is found with the overwrites.
    verify::Refutation check() {
        if (verify::Refutation refutation = matching.check(set)) return refutation;
        if (verify::Refutation refutation = direct.check(set)) return refutation;
        if (verify::Refutation refutation = conflicts.check(set)) return refutation;
        if (verify::Refutation refutation = overwrites.check(set)) return refutation;
        if (verify::Refutation refutation = walk.run(set, trees)) return refutation;
        if (verify::Refutation refutation = windowed.run(set)) return refutation;
        return walk.check_result(set, trees);
    }
};

Verifier::Verifier() : state_(std::make_unique<State>()) {}
Verifier::~Verifier() = default;

std::optional<std::string> Verifier::refute(const Problem& problem, std::span<const Schedule> schedules) {
    if (verify::Refutation refutation = verify::lower(problem, schedules, state_->set)) return refutation;
    return state_->check();
}

std::optional<std::string> Verifier::refute(const Problem& problem, std::span<const Plan> plans) {
    if (verify::Refutation refutation = verify::lower(problem, plans, state_->set)) return refutation;
    return state_->check();
}

std::optional<std::string> refute(const Problem& problem, std::span<const Schedule> schedules) {
    return Verifier().refute(problem, schedules);
}

std::optional<std::string> refute(const Problem& problem, std::span<const Plan> plans) {
    return Verifier().refute(problem, plans);
}

}  // namespace attune::collectives
