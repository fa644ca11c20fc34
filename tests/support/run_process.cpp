#include "tests/support/run_process.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace attune::test {
namespace {

struct Pipe {
    int read = -1;
    int write = -1;
};

Pipe make_pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        throw std::system_error(errno, std::generic_category(), "pipe2");
    }
    return {ends[0], ends[1]};
}

[[noreturn]] void become(const std::vector<std::string>& words, const ProcessOptions& options, int out, int err) {
    setpgid(0, 0);
    const int nothing = open("/dev/null", O_RDONLY);
    dup2(nothing, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    for (const auto& [name, value] : options.environment) {
        setenv(name.c_str(), value.c_str(), 1);
    }
    if (!options.folder.empty() && chdir(options.folder.c_str()) != 0) {
        _exit(127);
    }
    std::vector<char*> argv;
    for (const std::string& word : words) {
        argv.push_back(const_cast<char*>(word.c_str()));
    }
    argv.push_back(nullptr);
    execvp(argv[0], argv.data());
    _exit(127);
}

// Reads both ends until both are closed; false when the time is up first.
bool collect(std::span<pollfd> ends, std::array<std::string*, 2> texts, std::chrono::steady_clock::time_point deadline) {
    std::array<char, 65536> chunk;
    while (ends[0].fd >= 0 || ends[1].fd >= 0) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
        if (left <= 0) {
            return false;
        }
        poll(ends.data(), ends.size(), static_cast<int>(left));
        for (std::size_t i = 0; i < ends.size(); ++i) {
            if (ends[i].fd < 0 || ends[i].revents == 0) {
                continue;
            }
            const ssize_t got = read(ends[i].fd, chunk.data(), chunk.size());
            if (got > 0) {
                texts[i]->append(chunk.data(), static_cast<std::size_t>(got));
            } else if (got == 0 || errno != EINTR) {
                close(ends[i].fd);
                ends[i].fd = -1;
            }
        }
    }
    return true;
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& words, const ProcessOptions& options) {
    const Pipe out = make_pipe();
    const Pipe err = make_pipe();
    const pid_t child = fork();
    if (child < 0) {
        throw std::system_error(errno, std::generic_category(), "fork");
    }
    if (child == 0) {
        become(words, options, out.write, err.write);
    }
    close(out.write);
    close(err.write);
    ProcessResult result;
    std::array<pollfd, 2> ends{{{out.read, POLLIN, 0}, {err.read, POLLIN, 0}}};
    result.timed_out = !collect(ends, {&result.out, &result.err}, std::chrono::steady_clock::now() + options.timeout);
    if (result.timed_out) {
        kill(-child, SIGKILL);
        kill(child, SIGKILL);
    }
    for (const pollfd& end : ends) {
        if (end.fd >= 0) {
            close(end.fd);
        }
    }
    int status = 0;
    waitpid(child, &status, 0);
    result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return result;
}

TemporaryFolder::TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "attune-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
        throw std::system_error(errno, std::generic_category(), pattern);
    }
    path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

}  // namespace attune::test
