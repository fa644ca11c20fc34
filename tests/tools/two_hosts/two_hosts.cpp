// two_hosts: runs a job of several ranks on two virtual hosts, joined by a link with a delay and a rate. For tests and benchmarks on one machine.
#include "libcore/clock.hpp"
#include "libcore/error.hpp"
#include "libcore/file.hpp"
#include "libcore/units.hpp"
#include "tests/tools/two_hosts/rate.hpp"
#include "tests/tools/two_hosts/ranks.hpp"
#include "tests/tools/two_hosts/wire.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <iterator>

#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace {

namespace core = attune::core;
using namespace attune::two_hosts;

constexpr int impossible_here = 77;                // automake's "skipped"
constexpr std::int64_t notice_ns = 5'000'000'000;  // for ranks to see by themselves that another failed or that they shall end

struct Options {
    std::string delay = "0.1ms", rate = "1Gbit";
    int ranks = 2, ranks_per_node = 0;
    std::vector<std::string> command;
};

LinkOptions link_of(const Options& options) {
    LinkOptions link;
    link.delay_ns = core::parse_duration_ns(options.delay);
    link.bits_per_second = parse_rate(options.rate);
    return link;
}

JobOptions job_of(const Options& options) {
    JobOptions job{options.ranks, options.ranks_per_node, options.command};
    if (job.ranks_per_node == 0) job.ranks_per_node = (job.ranks + 1) / 2;
    const bool fits = job.ranks >= 1 && job.ranks_per_node >= 1 && job.ranks <= 2 * job.ranks_per_node;
    if (!fits)
        throw core::Error(core::ErrorCode::usage,
                          fmt::format("{} ranks do not fit two hosts with {} each; use a larger --ranks-per-node", job.ranks, job.ranks_per_node));
    if (job.command.empty()) throw core::Error(core::ErrorCode::usage, "no program was given; write two_hosts -n 4 -- PROGRAM ARGUMENTS");
    return job;
}

// Signals to us and ends of children, as something that poll() sees.
core::UniqueFd watch_signals() {
    sigset_t set;
    ::sigemptyset(&set);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGCHLD})
        ::sigaddset(&set, number);
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
    return core::UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

// The job while it runs.
class Run {
public:
    Run(const LinkOptions& link, const JobOptions& job)
        : signals_(watch_signals()),
          first_(make_host("10.78.0.1")),
          second_(make_host("10.78.0.2")),
          wire_(link, first_.link.get(), second_.link.get()),
          ranks_(job, first_, second_) {}

    int to_the_end() {
        while (ranks_.running()) {
            wait();
            wire_.carry(core::now_ns());
            handle_signals();
            end_the_rest();
        }
        if (asked_) return 128 + asked_;
        return ranks_.failure().value_or(0);
    }

private:
    void wait() {
        std::int64_t until = core::now_ns() + 100'000'000;
        if (const auto next = wire_.next()) until = std::min(until, *next);
        const std::int64_t left = std::max<std::int64_t>(until - core::now_ns(), 0);
        const timespec limit{left / 1'000'000'000, left % 1'000'000'000};
        pollfd entries[] = {{first_.link.get(), POLLIN, 0}, {second_.link.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}};
        ::ppoll(entries, std::size(entries), &limit, nullptr);
    }

    void handle_signals() {
        signalfd_siginfo info{};
        while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
            ranks_.reap();
            if (info.ssi_signo == SIGCHLD) continue;
            asked_ = static_cast<int>(info.ssi_signo);
            ranks_.signal(asked_);
        }
        if ((asked_ != 0 || ranks_.failure()) && ending_since_ == 0) ending_since_ = core::now_ns();
    }

    void end_the_rest() {
        if (ending_since_ != 0 && core::now_ns() - ending_since_ > notice_ns) ranks_.signal(SIGKILL);
    }

    core::UniqueFd signals_;
    VirtualHost first_, second_;
    Wire wire_;
    Ranks ranks_;
    int asked_ = 0;
    std::int64_t ending_since_ = 0;
};

int run(const Options& options) {
    const LinkOptions link = link_of(options);
    const JobOptions job = job_of(options);
    if (const auto reason = why_impossible()) {
        std::fprintf(stderr, "%s\n", reason->c_str());
        return impossible_here;
    }
    ::prctl(PR_SET_TIMERSLACK, 1UL);  // sleeps as short as the link's times
    return Run(link, job).to_the_end();
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Runs a job on two virtual hosts joined by an emulated link", "two_hosts");
    Options options;
    app.add_option("--delay", options.delay, "One way, for example 0.1ms");
    app.add_option("--rate", options.rate, "Each way, for example 1Gbit or 100Mbit");
    app.add_option("-n,--ranks", options.ranks, "Ranks in all");
    app.add_option("--ranks-per-node", options.ranks_per_node, "Ranks on the first host; the others run on the second; default: half");
    app.prefix_command();
    CLI11_PARSE(app, argc, argv);
    options.command = app.remaining();
    if (!options.command.empty() && options.command.front() == "--") options.command.erase(options.command.begin());
    try {
        return run(options);
    } catch (const core::Error& error) {
        std::fprintf(stderr, "two_hosts: %s\n", error.what());
        return error.exit_code();
    }
}
