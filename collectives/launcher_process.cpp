#include "collectives/launcher_process.hpp"

#include "collectives/launcher_spawn.hpp"
#include "libcore/topology.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace attune::collectives {

namespace {

[[noreturn]] void fail(std::string_view what) {
    throw LaunchError(1, fmt::format("{}: {} (see ulimit -n)", what, std::strerror(errno)));
}

// What all ranks of one launch share.
struct Start {
    const LaunchOptions& options;
    const std::vector<int>& binding;
    std::string cpus;     // the launcher's set, as text
    core::UniqueFd null;  // /dev/null
    OutputPipe report;    // failures of children before exec; ends when all have become their program
};

// Standard descriptors that we do not have would be taken by the next socket and then overwritten in the child.
core::UniqueFd open_null() {
    while (true) {
        const int number = ::open("/dev/null", O_RDWR);
        if (number < 0) fail("cannot open /dev/null");
        if (number <= STDERR_FILENO) continue;
        ::fcntl(number, F_SETFD, FD_CLOEXEC);
        return core::UniqueFd(number);
    }
}

std::vector<std::string> environment_of(const Start& start, int rank, int control) {
    std::vector<std::string> settings;
    for (const auto& [name, value] : start.options.environment)
        settings.push_back(name + "=" + value);
    settings.push_back(fmt::format("ATTUNE_RANK={}", rank));
    settings.push_back(fmt::format("ATTUNE_RANKS={}", start.options.ranks));
    settings.push_back(fmt::format("ATTUNE_LAUNCH_FD={}", control));
    settings.push_back("ATTUNE_LAUNCH_CPUS=" + start.cpus);
    if (!start.options.node_map.empty()) settings.push_back("ATTUNE_LAUNCH_NODES=" + start.options.node_map);
    return environment_with(settings);
}

// The child's ends of its output; closed in the launcher after fork().
struct ChildOutput {
    core::UniqueFd output, error;
};

ChildOutput connect_output(const Start& start, int rank, RankProcess& process, SpawnRequest& request) {
    ChildOutput ends;
    request.input = rank == 0 && !start.options.capture_output ? -1 : start.null.get();
    if (start.options.capture_output) request.output = start.null.get();
    if (!start.options.tag_output) return ends;
    if (!start.options.capture_output) {
        OutputPipe pipe = make_output_pipe();
        process.output.emplace(rank, std::move(pipe.read), STDOUT_FILENO);
        ends.output = std::move(pipe.write);
        request.output = ends.output.get();
    }
    OutputPipe pipe = make_output_pipe();
    process.error.emplace(rank, std::move(pipe.read), STDERR_FILENO);
    ends.error = std::move(pipe.write);
    request.error = ends.error.get();
    return ends;
}

SpawnRequest request_of(const Start& start, int rank, int control) {
    SpawnRequest request;
    request.rank = rank;
    request.command = start.options.command;
    request.environment = environment_of(start, rank, control);
    request.control = control;
    request.cpu = start.binding.empty() ? -1 : start.binding[static_cast<std::size_t>(rank)];
    request.report = start.report.write.get();
    return request;
}

RankProcess start_rank(const Start& start, int rank) {
    int sockets[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) fail(fmt::format("cannot connect rank {}", rank));
    RankProcess process;
    process.control = core::UniqueFd(sockets[0]);
    const core::UniqueFd theirs(sockets[1]);
    SpawnRequest request = request_of(start, rank, theirs.get());
    const ChildOutput ends = connect_output(start, rank, process, request);
    process.pid = spawn(request);
    process.life = core::UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
    if (process.life) return process;
    const int error = errno;
    ::kill(process.pid, SIGKILL);  // not reaped yet, so the number is still its own
    ::waitpid(process.pid, nullptr, 0);
    errno = error;
    fail(fmt::format("cannot watch rank {}", rank));
}

// Waits until every child has become its program or reported why not.
void confirm(Start& start, const std::vector<RankProcess>& ranks) {
    start.report.write.reset();
    ::fcntl(start.report.read.get(), F_SETFL, 0);
    SpawnFailure failure;
    ssize_t got = 0;
    do {
        got = ::read(start.report.read.get(), &failure, sizeof failure);
    } while (got < 0 && errno == EINTR);
    if (got != sizeof failure) return;
    const SpawnRequest request = request_of(start, failure.rank, ranks[static_cast<std::size_t>(failure.rank)].control.get());
    throw LaunchError(exit_status_of(failure), describe(failure, request));
}

int status_of(const siginfo_t& info) {
    return info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
}

}  // namespace

// Through syscall(): sys/pidfd.h of glibc 2.36 is not usable from C++.
void RankProcess::signal(int number) const noexcept {
    if (life) ::syscall(SYS_pidfd_send_signal, life.get(), number, nullptr, 0);
}

std::optional<int> RankProcess::reap() {
    siginfo_t info{};
    if (!life || ::waitid(P_PIDFD, static_cast<id_t>(life.get()), &info, WEXITED | WNOHANG) != 0 || info.si_pid == 0) return {};
    life.reset();
    return status_of(info);
}

std::optional<int> RankProcess::end() {
    signal(SIGKILL);
    siginfo_t info{};
    while (life && ::waitid(P_PIDFD, static_cast<id_t>(life.get()), &info, WEXITED) != 0 && errno == EINTR) {
    }
    if (!life) return {};
    life.reset();
    return status_of(info);
}

void RankProcess::finish_output() {
    if (output) output->finish();
    if (error) error->finish();
}

int RankProcess::write_error() const noexcept {
    const int of_output = output ? output->write_error() : 0;
    return of_output != 0 || !error ? of_output : error->write_error();
}

std::vector<int> binding_of(const LaunchOptions& options) {
    if (options.ranks < 1) throw core::Error(core::ErrorCode::usage, fmt::format("{} ranks make no team; at least 1 is needed", options.ranks));
    if (options.bind_to == BindTo::none) return {};
    std::vector<int> cpus = core::allowed_cpus().cpus;
    if (static_cast<std::size_t>(options.ranks) > cpus.size()) return {};
    cpus.resize(static_cast<std::size_t>(options.ranks));
    return cpus;
}

std::vector<RankProcess> start_ranks(const LaunchOptions& options, const std::vector<int>& binding) {
    if (options.command.empty()) throw core::Error(core::ErrorCode::usage, "no program to start was given");
    Start start{options, binding, core::allowed_cpus().text(), open_null(), make_output_pipe()};
    std::vector<RankProcess> ranks;
    try {
        for (int rank = 0; rank < options.ranks; ++rank)
            ranks.push_back(start_rank(start, rank));
        confirm(start, ranks);
    } catch (...) {
        for (RankProcess& process : ranks)
            process.end();
        throw;
    }
    return ranks;
}

std::string describe(const RankExit& exit) {
    const int rank = exit.rank, status = exit.status;
    if (status == 0) return fmt::format("rank {} has ended", rank);
    if (status > 128) return fmt::format("rank {} was killed by signal {} ({})", rank, status - 128, ::strsignal(status - 128));
    return fmt::format("rank {} exited with status {}", rank, status);
}

}  // namespace attune::collectives
