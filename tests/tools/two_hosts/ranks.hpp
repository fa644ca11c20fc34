// The processes of a job on two virtual hosts, as torchrun would start them.
#pragma once

#include "libcore/file.hpp"
#include "tests/tools/two_hosts/virtual_host.hpp"

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace attune::two_hosts {

struct JobOptions {
    int ranks = 2;
    int ranks_per_node = 1;  // the first so many ranks run on the first host, the others on the second
    std::vector<std::string> command;
};

// A file of random bytes that only we can read, until the end.
class SecretFile {
public:
    SecretFile();
    ~SecretFile();
    SecretFile(const SecretFile&) = delete;
    SecretFile& operator=(const SecretFile&) = delete;
    const std::string& path() const noexcept { return path_; }

private:
    std::string path_;
};

// Every rank gets RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT and ATTUNE_SECRET_FILE, and dies with this program.
class Ranks {
public:
    Ranks(const JobOptions& options, const VirtualHost& first, const VirtualHost& second);
    ~Ranks();  // kills and reaps what is left
    Ranks(const Ranks&) = delete;
    Ranks& operator=(const Ranks&) = delete;

    void reap();  // those that have ended
    bool running() const noexcept;
    // Exit status of the first rank that failed, 128 + signal when it was killed.
    std::optional<int> failure() const noexcept { return failure_; }
    void signal(int number) const noexcept;

private:
    void start(const JobOptions& options, int rank, const VirtualHost& host, const std::string& master);

    SecretFile secret_;
    std::vector<pid_t> processes_;  // 0 = reaped
    std::vector<pid_t> groups_;     // of all ranks, also of those that ended: each is a process group of its own
    std::optional<int> failure_;
};

}  // namespace attune::two_hosts
