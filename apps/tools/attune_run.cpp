// attune-run: starts a program as ranks on this machine and ends with the first failing rank's status.
#include "apps/tools/support/options.hpp"
#include "apps/tools/support/run_tool.hpp"
#include "collectives/launcher.hpp"
#include "libcore/environment.hpp"
#include "libcore/error.hpp"
#include "libcore/file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>

#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

namespace tools = attune::tools;
namespace core = attune::core;
namespace collectives = attune::collectives;

struct Options {
    collectives::LaunchOptions launch;
    std::string bind_to = "core";
    std::vector<std::string> exports;
    bool report_bindings = false;
    tools::NodeOptions nodes;
};

// Passes the signals that users and batch systems send on to the ranks.
class Forwarder {
public:
    Forwarder() {
        ::sigemptyset(&set_);
        for (const int number : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2})
            ::sigaddset(&set_, number);
        ::sigprocmask(SIG_BLOCK, &set_, &before_);
        descriptor_ = core::UniqueFd(::signalfd(-1, &set_, SFD_CLOEXEC | SFD_NONBLOCK));
        if (!descriptor_) throw core::Error(core::ErrorCode::failure, fmt::format("cannot watch signals: {}", std::strerror(errno)));
    }
    ~Forwarder() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
    Forwarder(const Forwarder&) = delete;
    Forwarder& operator=(const Forwarder&) = delete;

    int descriptor() const noexcept { return descriptor_.get(); }

    void forward(collectives::Team& team) {
        signalfd_siginfo info{};
        while (::read(descriptor_.get(), &info, sizeof info) == sizeof info) {
            const int number = static_cast<int>(info.ssi_signo);
            // Ctrl-C and Ctrl-\\ reach the ranks by themselves: they are in the terminal's foreground group.
            const bool from_terminal = (number == SIGINT || number == SIGQUIT) && info.ssi_code == SI_KERNEL;
            if (!from_terminal) team.signal(number);
            const bool to_end = number == SIGINT || number == SIGTERM || number == SIGHUP;
            if (to_end && ++requests_ == patience) team.kill();
        }
    }

private:
    static constexpr int patience = 3;  // the third request to end does not ask any more
    sigset_t set_{}, before_{};
    core::UniqueFd descriptor_;
    int requests_ = 0;
};

// What ranks that are scripts started outlives them, and comes to this process. After a failure it is ended, too; after success it may go on.
class Descendants {
public:
    Descendants() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }

    static void end() {
        for (const int number : {SIGTERM, SIGKILL}) {
            for (int turn = 0; turn < turns && signal_all(number); ++turn)
                ::usleep(pause_us);
        }
    }

private:
    static constexpr int turns = 100;
    static constexpr useconds_t pause_us = 20'000;

    // False when none is left. Those of a process that ended came here in its place.
    static bool signal_all(int number) {
        while (::waitpid(-1, nullptr, WNOHANG) > 0) {
        }
        std::ifstream children(fmt::format("/proc/self/task/{}/children", ::getpid()));
        bool any = false;
        for (pid_t child = 0; children >> child; any = true)
            ::kill(child, number);
        return any;
    }
};

void report_bindings(const Options& options, const collectives::Team& team) {
    const std::vector<int> binding = team.binding();
    for (int rank = 0; rank < team.size(); ++rank) {
        const std::string where = binding.empty() ? "not bound" : fmt::format("bound to CPU {}", binding[static_cast<std::size_t>(rank)]);
        std::fprintf(stderr, "attune-run: rank %d (pid %d) is %s\n", rank, static_cast<int>(team.pid(rank)), where.c_str());
    }
    if (binding.empty() && options.bind_to == "core") std::fprintf(stderr, "attune-run: there are more ranks than allowed CPUs\n");
}

// "NAME=VALUE" sets; a bare "NAME" is handed on anyway, as everything in the environment is.
void apply_exports(Options& options) {
    for (const std::string& text : options.exports) {
        const std::size_t equals = text.find('=');
        if (equals == 0 || text.empty()) throw core::Error(core::ErrorCode::usage, fmt::format("-x '{}' names no variable; write -x NAME=VALUE", text));
        if (text.starts_with("ATTUNE_RANK=") || text.starts_with("ATTUNE_RANKS=") || text.starts_with("ATTUNE_LAUNCH_"))
            throw core::Error(core::ErrorCode::usage, fmt::format("-x {}: set by the launcher for each rank; leave it out", text.substr(0, equals)));
        if (equals != std::string::npos) options.launch.environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
}

void refuse_nesting() {
    if (!core::read_environment().rank) return;
    throw core::Error(
        core::ErrorCode::usage,
        "attune-run was started by a rank of another attune-run (ATTUNE_RANK is set); start it outside, or unset ATTUNE_RANK if it was set by hand");
}

int first_failure(const collectives::Team& team) {
    for (const collectives::RankExit& exit : team.exits()) {
        if (exit.status == 0) continue;
        std::fprintf(stderr, "attune-run: %s\n", collectives::describe(exit).c_str());
        return exit.status;
    }
    return 0;
}

int run(Options& options, std::vector<std::string> command) {
    refuse_nesting();
    apply_exports(options);
    options.launch.bind_to = collectives::parse_bind_to(options.bind_to);
    if (options.nodes.given()) options.launch.node_map = options.nodes.text(options.launch.ranks);
    options.launch.command = std::move(command);
    if (options.launch.command.empty()) throw core::Error(core::ErrorCode::usage, "no program was given; write attune-run -n 2 -- PROGRAM ARGUMENTS");
    Forwarder forwarder;
    const Descendants descendants;
    collectives::Team team = collectives::Team::launch(options.launch);
    if (options.report_bindings) report_bindings(options, team);
    team.wake_on(forwarder.descriptor());
    const auto forward = [&] {
        forwarder.forward(team);
        return false;
    };
    team.serve(forward, {});
    const int status = first_failure(team);
    if (status != 0) Descendants::end();
    const std::string lost = team.output_failure();
    if (!lost.empty()) std::fprintf(stderr, "attune-run: %s\n", lost.c_str());
    return status == 0 && !lost.empty() ? 1 : status;
}

int run_or_explain(Options& options, std::vector<std::string> command) {
    try {
        return run(options, std::move(command));
    } catch (const collectives::LaunchError& error) {
        std::fprintf(stderr, "attune-run: %s\n", error.what());
        return error.status();
    }
}

tools::Body set_up(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    options->launch.ranks = tools::default_ranks();
    app.prefix_command();
    tools::add_ranks_option(app, options->launch.ranks);
    tools::add_node_options(app, options->nodes);
    tools::add_word_option(
        app, "--bind-to", options->bind_to,
        {"binding", {"core", "none"}, "core: rank r runs on the r-th allowed CPU, unless there are more ranks than CPUs; none: the system decides"});
    app.add_flag("--report-bindings", options->report_bindings, "Say on stderr where each rank runs");
    app.add_flag("--tag-output", options->launch.tag_output, "Put \"[rank] \" in front of every line of output");
    app.add_option("-x", options->exports, "Set a variable for the ranks; all others are handed on as they are")
        ->type_name("NAME[=VALUE]")
        ->allow_extra_args(false);
    return [&app, options] { return run_or_explain(*options, tools::command_words(app)); };
}

}  // namespace

int main(int argc, char** argv) {
    const tools::ToolInfo info = {"attune-run",
                                  "Starts a program as ranks on this machine. Returns the first failing rank's status (128 + signal when it was "
                                  "killed), 127 when the program does not exist, 126 when it cannot be executed.",
                                  "attune-run -n 4 --tag-output -- ./my_program --its --own options"};
    return tools::run_tool(info, argc, argv, set_up);
}
