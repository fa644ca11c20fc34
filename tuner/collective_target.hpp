// Collectives as something to tune: the space from the catalogue, teams of rank processes.
#pragma once

#include "tuner/arena.hpp"
#include "tuner/space.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace attune::tuner {

struct CollectiveTargetOptions {
    SpaceOptions space;
    std::vector<CandidateZero> candidate_zero;  // test option, normally empty
};

class CollectiveTarget final : public Target {
public:
    explicit CollectiveTarget(CollectiveTargetOptions options) : options_(std::move(options)) {}

    std::string name() const override { return "collective"; }
    std::unique_ptr<Arena> launch(const TeamOptions& options) override;
    std::vector<core::Config> candidates(const collectives::Problem& problem) override;
    core::Config default_of(const collectives::Problem& problem) override;

private:
    CollectiveTargetOptions options_;
    // Spaces asked for so far: large sizes take up to a second to enumerate, and the session asks again.
    std::vector<std::pair<collectives::Problem, std::vector<core::Config>>> known_;
};

}  // namespace attune::tuner
