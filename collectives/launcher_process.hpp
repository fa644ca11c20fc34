// One rank's process as the launcher holds it, and how a team of them is started.
#pragma once

#include "collectives/launcher.hpp"
#include "collectives/launcher_output.hpp"
#include "libcore/file.hpp"

#include <optional>
#include <string>
#include <vector>

namespace attune::collectives {

struct RankProcess {
    pid_t pid = 0;
    core::UniqueFd life;     // pidfd; closed once the process is reaped
    core::UniqueFd control;  // our end of the socketpair
    std::optional<TaggedOutput> output, error;

    void signal(int number) const noexcept;  // nothing when it has ended
    std::optional<int> reap();               // its status when it has just ended
    std::optional<int> end();                // kills, waits and reaps; nothing when already reaped
    void finish_output();
    int write_error() const noexcept;  // of its output, as TaggedOutput::write_error()
};

// CPU of each rank, or empty when no rank is bound. Throws Error(usage) for fewer than one rank.
std::vector<int> binding_of(const LaunchOptions& options);
// All ranks run their program when this returns; on failure none is left. Throws LaunchError, Error(usage).
std::vector<RankProcess> start_ranks(const LaunchOptions& options, const std::vector<int>& binding);

}  // namespace attune::collectives
