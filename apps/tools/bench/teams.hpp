// Where arenas come from: launched by this process, or the job that this process is a rank of.
#pragma once

#include "tuner/arena.hpp"

#include <memory>

namespace attune::tools::bench {

class Teams {
public:
    virtual ~Teams() = default;
    // A living arena: the same one again for the same options, unless it has died. Throws core::Error(failure), or Error(usage) when a job has another size.
    virtual tuner::Arena& team(const tuner::TeamOptions& options) = 0;
    // A new launch. Throws core::Error(usage) inside a job, which cannot be launched again.
    virtual tuner::Arena& fresh(const tuner::TeamOptions& options) = 0;
};

// Whether one arena serves both.
bool same_team(const tuner::TeamOptions& a, const tuner::TeamOptions& b);

class LaunchedTeams final : public Teams {
public:
    tuner::Arena& team(const tuner::TeamOptions& options) override;
    tuner::Arena& fresh(const tuner::TeamOptions& options) override;

private:
    std::unique_ptr<tuner::Arena> arena_;
    tuner::TeamOptions options_;
};

class JobTeam final : public Teams {
public:
    JobTeam(tuner::Arena& arena, int ranks) : arena_(arena), ranks_(ranks) {}
    tuner::Arena& team(const tuner::TeamOptions& options) override;
    tuner::Arena& fresh(const tuner::TeamOptions& options) override;

private:
    tuner::Arena& arena_;
    int ranks_;
};

}  // namespace attune::tools::bench
