// What a Communicator of the public header stands on: the bootstrap, the team's communicator, the trace, the log.
#pragma once

#include "apps/runtime/amounts_memory.hpp"
#include "apps/runtime/include/attune/attune.hpp"
#include "collectives/communicator.hpp"
#include "libcore/environment.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace attune::detail {

// What a communicator and all made from it have in common. Prints the summary of all their calls when the last of them ends, on rank 0 of the first, at
// the level info.
struct Common {
    std::shared_ptr<core::TraceSink> trace;
    std::unique_ptr<collectives::Bootstrap> bootstrap;
    core::Environment environment;
    Options options;
    core::Log log;
    int ranks = 1;
    bool talks = false;

    void add(const collectives::CallStatistics& statistics);
    ~Common();

private:
    std::mutex mutex_;
    std::vector<collectives::CallStatistics> ended_;
};

struct Job {
    std::shared_ptr<Common> common;
    std::unique_ptr<collectives::Communicator> team;
    AmountsMemory amounts;

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
// A communicator made from that of `parent`.
std::shared_ptr<Job> child_job(const Job& parent, std::unique_ptr<collectives::Communicator> team);

// Reads one release on rank 0, for this machine. Empty elsewhere.
collectives::TableSource release_source(const Job& job, const std::string& path);

// Throws core::Error for values of enumerations that do not exist.
collectives::Problem problem_of(const Call& call, Job& job);
collectives::CallStatistics sum_of(const std::vector<collectives::CallStatistics>& parts);
// One line: calls, share by match grade, the costliest problems on the default, the command that would tune them.
std::string summarize(const collectives::CallStatistics& statistics);

}  // namespace attune::detail
