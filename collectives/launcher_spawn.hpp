// fork and exec of one rank. Apart from launcher.cpp because everything after fork() must be async-signal-safe.
#pragma once

#include <string>
#include <vector>

#include <sched.h>
#include <sys/types.h>

namespace attune::collectives {

struct SpawnRequest {
    int rank = 0;
    std::vector<std::string> command;
    std::vector<std::string> environment;     // "NAME=value", complete
    int control = -1;                         // survives exec under this number
    int cpu = -1;                             // -1 = keep the launcher's set
    int input = -1, output = -1, error = -1;  // become 0, 1, 2; -1 = inherited
    int report = -1;                          // close-on-exec pipe that gets a SpawnFailure
};

// Written by a child that could not become the program.
struct SpawnFailure {
    enum class Stage : int { lifetime, binding, streams, execution } stage = Stage::execution;
    int rank = 0;
    int error = 0;  // errno
};

// Returns the child's pid. The child dies with the calling thread (PR_SET_PDEATHSIG). Throws Error(failure) when fork fails.
pid_t spawn(const SpawnRequest& request);
std::string describe(const SpawnFailure& failure, const SpawnRequest& request);
// 127 when the program does not exist, 126 when it exists but cannot be executed, else 1.
int exit_status_of(const SpawnFailure& failure);

// The calling process's environment without the names in `settings` ("NAME=value") and without a launcher's own variables, plus `settings`.
std::vector<std::string> environment_with(const std::vector<std::string>& settings);

}  // namespace attune::collectives
