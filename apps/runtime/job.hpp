// What a Communicator of the public header stands on: the bootstrap, the team's communicator, the trace, the log.
#pragma once

#include "apps/runtime/include/attune/attune.hpp"
#include "collectives/communicator.hpp"

#include <memory>
#include <string>

namespace attune::detail {

struct Job {
    std::shared_ptr<core::TraceSink> trace;
    std::unique_ptr<collectives::Bootstrap> bootstrap;
    core::Log log;
    std::unique_ptr<collectives::Communicator> team;

    // Prints the summary on rank 0 at the level info.
    ~Job();
};

// A call that is started again and again, and its buffers.
struct PreparedCall {
    collectives::PreparedCall call;
    const void* input = nullptr;
    void* output = nullptr;
};

// Reads the environment; `options` beat it. Throws core::Error.
std::shared_ptr<Job> open_job(const Options& options);

collectives::Problem problem_of(const Call& call);
// One line: calls, share by match grade, the costliest problems on the default, the command that would tune them.
std::string summarize(const collectives::CallStatistics& statistics, int ranks);

}  // namespace attune::detail
