#include "tuner/collective_target.hpp"

#include "tuner/arena_factory.hpp"

#include <algorithm>

namespace attune::tuner {

std::unique_ptr<Arena> CollectiveTarget::launch(const TeamOptions& options) {
    return launch_process_arena(options);
}

std::vector<core::Config> CollectiveTarget::candidates(const collectives::Problem& problem) {
    const auto same = [&](const auto& entry) { return entry.first == problem; };
    const auto found = std::ranges::find_if(known_, same);
    if (found != known_.end()) return found->second;
    auto configs = enumerate_space(problem, default_of(problem), options_.space);
    known_.emplace_back(problem, configs);
    return configs;
}

core::Config CollectiveTarget::default_of(const collectives::Problem& problem) {
    return candidate_zero(problem, options_.space, options_.candidate_zero);
}

}  // namespace attune::tuner
