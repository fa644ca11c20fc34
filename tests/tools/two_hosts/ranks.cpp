#include "tests/tools/two_hosts/ranks.hpp"

#include "libcore/crypto.hpp"
#include "libcore/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace attune::two_hosts {

namespace {

constexpr int meeting_port = 29500;
constexpr int not_started = 127;

void set(const char* name, const std::string& value) {
    ::setenv(name, value.c_str(), 1);
}

// After fork() in a program of one thread, so anything may be called.
[[noreturn]] void become(const JobOptions& options, int name_space, pid_t parent) {
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent || ::setns(name_space, CLONE_NEWNET) != 0) ::_exit(not_started);
    std::vector<char*> words;
    for (const std::string& word : options.command)
        words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    ::execvp(words[0], words.data());
    const std::string line = fmt::format("two_hosts: cannot start '{}': {}\n", options.command.front(), std::strerror(errno));
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
    ::_exit(not_started);
}

}  // namespace

SecretFile::SecretFile() {
    std::string pattern = (std::filesystem::temp_directory_path() / "attune-secret-XXXXXX").string();
    const core::UniqueFd file(::mkstemp(pattern.data()));
    if (!file) throw core::Error(core::ErrorCode::failure, fmt::format("cannot make a file for the secret: {}", std::strerror(errno)));
    path_ = pattern;
    std::array<std::byte, 32> secret;
    core::random_bytes(secret);
    core::write_all(file.get(), secret, path_);
}

SecretFile::~SecretFile() {
    ::unlink(path_.c_str());
}

Ranks::Ranks(const JobOptions& options, const VirtualHost& first, const VirtualHost& second) {
    for (int rank = 0; rank < options.ranks; ++rank)
        start(options, rank, rank < options.ranks_per_node ? first : second, first.address);
}

Ranks::~Ranks() {
    // With everything that they started and left behind.
    for (const pid_t group : groups_)
        ::kill(-group, SIGKILL);
    for (const pid_t process : processes_)
        if (process != 0) ::waitpid(process, nullptr, 0);
}

void Ranks::start(const JobOptions& options, int rank, const VirtualHost& host, const std::string& master) {
    const pid_t parent = ::getpid();
    const pid_t process = ::fork();
    if (process < 0) throw core::Error(core::ErrorCode::failure, fmt::format("cannot start rank {}: {}", rank, std::strerror(errno)));
    if (process > 0) {
        ::setpgid(process, process);  // the child does so, too: whoever comes first
        processes_.push_back(process);
        groups_.push_back(process);
        return;
    }
    ::setpgid(0, 0);
    for (const char* name : {"ATTUNE_RANK", "ATTUNE_RANKS", "ATTUNE_LAUNCH_FD", "ATTUNE_LAUNCH_CPUS", "ATTUNE_LAUNCH_NODES"})
        ::unsetenv(name);
    set("RANK", std::to_string(rank));
    set("LOCAL_RANK", std::to_string(rank % options.ranks_per_node));
    set("WORLD_SIZE", std::to_string(options.ranks));
    set("MASTER_ADDR", master);
    set("MASTER_PORT", std::to_string(meeting_port));
    set("ATTUNE_SECRET_FILE", secret_.path());
    become(options, host.name_space.get(), parent);
}

void Ranks::reap() {
    for (pid_t& process : processes_) {
        int status = 0;
        if (process == 0 || ::waitpid(process, &status, WNOHANG) != process) continue;
        process = 0;
        const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        if (code != 0 && !failure_) failure_ = code;
    }
}

bool Ranks::running() const noexcept {
    return std::ranges::any_of(processes_, [](pid_t process) { return process != 0; });
}

void Ranks::signal(int number) const noexcept {
    for (const pid_t process : processes_)
        if (process != 0) ::kill(-process, number);
}

}  // namespace attune::two_hosts
