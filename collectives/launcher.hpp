// Starts a team of rank processes on this machine, serves their bootstrap, watches and ends them.
#pragma once

#include "libcore/error.hpp"
#include "libcore/topology.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace attune::collectives {

enum class BindTo : std::uint8_t { core, none };
BindTo parse_bind_to(std::string_view text);

// What could not be started and why; `status` is what a shell would return: 127 no such program, 126 not executable, else 1.
class LaunchError : public core::Error {
public:
    LaunchError(int status, const std::string& message) : core::Error(core::ErrorCode::failure, message), status_(status) {}
    int status() const noexcept { return status_; }

private:
    int status_;
};

// Rank 0 inherits standard input (unless captured), the others read /dev/null. Each rank finds ATTUNE_RANK, ATTUNE_RANKS, ATTUNE_LAUNCH_FD and
// ATTUNE_LAUNCH_CPUS (the launcher's CPUs before binding) in its environment.
struct LaunchOptions {
    int ranks = 2;
    std::vector<std::string> command;                              // argv, found through PATH
    BindTo bind_to = BindTo::core;                                 // rank r to the r-th allowed CPU when ranks <= allowed CPUs, else nobody is bound
    std::vector<std::pair<std::string, std::string>> environment;  // added to ours
    std::string node_map;                                          // logical nodes, told to the ranks in ATTUNE_LAUNCH_NODES; empty = the real ones
    bool tag_output = false;                                       // prefix each line with "[rank] "
    bool capture_output = false;                                   // stdout of ranks is discarded (arena ranks)
};

struct RankExit {
    int rank = 0;
    pid_t pid = 0;
    int status = 0;  // exit status, or 128 + signal
};

// "rank 3 exited with status 1", "rank 3 was killed by signal 9 (Killed)".
std::string describe(const RankExit& exit);

// Not thread-safe. Ranks get PR_SET_PDEATHSIG, so none outlives the thread that launched them. The destructor kills what is left.
class Team {
public:
    // Returns when every rank runs its program. Throws LaunchError (nobody is left then) or Error(usage).
    static Team launch(const LaunchOptions& options);
    ~Team();
    Team(Team&&) noexcept;
    Team& operator=(Team&&) noexcept;

    int size() const noexcept;
    pid_t pid(int rank) const;
    int control(int rank) const;  // our end of the rank's socketpair; the bootstrap uses it until the team is up
    // CPU of each rank, or empty when unbound.
    std::vector<int> binding() const;

    // A descriptor whose readability ends the sleep of serve(), so that `until` runs at once (signals); -1 = none. Stays the caller's.
    void wake_on(int descriptor);

    // Serves bootstrap requests and forwards output until `until` returns true, all ranks ended or the deadline passes. When a rank ends
    // with a failure while others run, the others get 2 s to notice by themselves, then SIGTERM, then SIGKILL. `until` runs after every event and at
    // least every 100 ms. Packets on the control sockets that are not the bootstrap's are left there for their owner (`until` may take them).
    void serve(const std::function<bool()>& until, std::optional<std::chrono::steady_clock::time_point> deadline);
    // serve() until all ended; the first failing rank's status, or 0.
    int wait();
    // Why tagged output was lost: "cannot write the output of rank 1: No space left on device"; empty = none was.
    std::string output_failure() const;
    std::vector<RankExit> exits() const;  // of ranks that ended, in order of their end
    bool running() const;
    void signal(int number);  // to all living ranks
    void kill();              // SIGKILL through pidfds, then reap

private:
    struct State;
    explicit Team(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace attune::collectives
