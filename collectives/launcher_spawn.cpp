#include "collectives/launcher_spawn.hpp"

#include "libcore/error.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace attune::collectives {

namespace {

using Stage = SpawnFailure::Stage;

// Everything the child needs, made before fork(): it may not allocate.
struct Prepared {
    std::vector<char*> arguments;
    std::vector<char*> environment;
    cpu_set_t cpus;
    pid_t launcher = 0;
};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (const std::string& text : texts)
        result.push_back(const_cast<char*>(text.c_str()));
    result.push_back(nullptr);
    return result;
}

[[noreturn]] void give_up(const SpawnRequest& request, Stage stage) {
    const SpawnFailure failure{stage, request.rank, errno};
    [[maybe_unused]] const ssize_t written = ::write(request.report, &failure, sizeof failure);
    ::_exit(127);
}

// Signals as a fresh program expects them: nothing blocked or ignored by us.
void reset_signals() {
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE, SIGCHLD})
        ::signal(number, SIG_DFL);
}

bool redirect(int from, int to) {
    return from < 0 || ::dup2(from, to) >= 0;
}

[[noreturn]] void become_rank(const SpawnRequest& request, const Prepared& prepared) {
    reset_signals();
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) give_up(request, Stage::lifetime);
    // The launcher may have died before prctl: then nobody would end this rank.
    if (::getppid() != prepared.launcher) ::_exit(127);
    if (request.cpu >= 0 && ::sched_setaffinity(0, sizeof prepared.cpus, &prepared.cpus) != 0) give_up(request, Stage::binding);
    const bool streams = redirect(request.input, 0) && redirect(request.output, 1) && redirect(request.error, 2) && ::fcntl(request.control, F_SETFD, 0) == 0;
    if (!streams) give_up(request, Stage::streams);
    ::execvpe(prepared.arguments[0], prepared.arguments.data(), prepared.environment.data());
    give_up(request, Stage::execution);
}

std::string_view name_part(std::string_view entry) {
    return entry.substr(0, entry.find('='));
}

}  // namespace

pid_t spawn(const SpawnRequest& request) {
    Prepared prepared;
    prepared.arguments = pointers(request.command);
    prepared.environment = pointers(request.environment);
    prepared.launcher = ::getpid();
    CPU_ZERO(&prepared.cpus);
    if (request.cpu >= CPU_SETSIZE)
        throw core::Error(core::ErrorCode::failure, fmt::format("cannot bind rank {} to CPU {}: at most {} CPUs are supported; use --bind-to none",
                                                                request.rank, request.cpu, CPU_SETSIZE));
    if (request.cpu >= 0) CPU_SET(static_cast<std::size_t>(request.cpu), &prepared.cpus);
    const pid_t pid = ::fork();
    if (pid < 0) throw core::Error(core::ErrorCode::failure, fmt::format("cannot start rank {}: {} (see ulimit -u)", request.rank, std::strerror(errno)));
    if (pid == 0) become_rank(request, prepared);
    return pid;
}

std::string describe(const SpawnFailure& failure, const SpawnRequest& request) {
    const char* reason = std::strerror(failure.error);
    switch (failure.stage) {
        case Stage::execution:
            return fmt::format("cannot start '{}': {}", request.command.front(), reason);
        case Stage::binding:
            return fmt::format("cannot bind rank {} to CPU {}: {}; use --bind-to none", failure.rank, request.cpu, reason);
        case Stage::streams:
            return fmt::format("cannot connect the streams of rank {}: {}", failure.rank, reason);
        case Stage::lifetime:
            break;
    }
    return fmt::format("cannot tie the life of rank {} to the launcher: {}", failure.rank, reason);
}

int exit_status_of(const SpawnFailure& failure) {
    if (failure.stage != Stage::execution) return 1;
    return failure.error == ENOENT || failure.error == ENOTDIR ? 127 : 126;
}

std::vector<std::string> environment_with(const std::vector<std::string>& settings) {
    std::vector<std::string> result;
    // Handed on, not read: what the variables mean is libcore/environment's business.
    for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view name = name_part(*entry);
        bool replaced =
            name == "ATTUNE_RANK" || name == "ATTUNE_RANKS" || name == "ATTUNE_LAUNCH_FD" || name == "ATTUNE_LAUNCH_CPUS" || name == "ATTUNE_LAUNCH_NODES";
        for (const std::string& setting : settings)
            replaced = replaced || name == name_part(setting);
        if (!replaced) result.emplace_back(*entry);
    }
    result.insert(result.end(), settings.begin(), settings.end());
    return result;
}

}  // namespace attune::collectives
