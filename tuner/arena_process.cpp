// An arena in processes of its own: this program started again as `arena-rank`, driven over each rank's control socket.
#include "collectives/launcher.hpp"
#include "libcore/clock.hpp"
#include "libcore/error.hpp"
#include "libcore/topology.hpp"
#include "tuner/arena_driver.hpp"
#include "tuner/arena_factory.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include <poll.h>
#include <sys/socket.h>

namespace attune::tuner {

namespace {

using engine::Command;
using engine::Reply;
using engine::Setup;

constexpr std::chrono::seconds death_notice{2};  // from a closed socket to the exit status

bool in_threads(const TeamOptions& options) {
    return options.transport == "local";
}

bool more_ranks_than_cpus(const TeamOptions& options) {
    return static_cast<std::size_t>(options.ranks) > core::allowed_cpus().cpus.size();
}

collectives::Team start_team(const TeamOptions& options) {
    collectives::LaunchOptions launch;
    launch.ranks = in_threads(options) ? 1 : options.ranks;
    launch.command = {"/proc/self/exe", arena_rank_word};
    launch.bind_to = options.bind && !in_threads(options) ? collectives::BindTo::core : collectives::BindTo::none;
    launch.capture_output = true;
    return collectives::Team::launch(launch);
}

Setup setup_of(const TeamOptions& options) {
    Setup setup;
    setup.ranks = options.ranks;
    setup.timeout_ns = options.timeout_ns;
    setup.threads = in_threads(options) ? 1 : 0;
    setup.oversubscribed = more_ranks_than_cpus(options) ? 1 : 0;
    setup.bind = options.bind && setup.oversubscribed == 0 ? 1 : 0;
    const core::Topology topology = core::discover_topology();
    setup.cache_bytes = std::max(topology.l3_bytes, topology.l2_bytes);
    engine::set_text(setup.transport, options.transport);
    if (options.node_map.size() >= sizeof setup.node_map)
        throw core::Error(core::ErrorCode::usage, "the node map '" + options.node_map.substr(0, 40) + "...' is too long; use a regular one");
    engine::set_text(setup.node_map, options.node_map);
    return setup;
}

// True when the next packet is one of ours, not the bootstrap's.
bool record_waits(int descriptor) {
    std::uint32_t magic = 0;
    const ssize_t got = ::recv(descriptor, &magic, sizeof(magic), MSG_PEEK | MSG_DONTWAIT);
    return got == static_cast<ssize_t>(sizeof(magic)) && magic == engine::record_magic;
}

class ProcessArena final : public ArenaDriver {
public:
    ProcessArena(const TeamOptions& options, engine::SharedArea area)
        : ArenaDriver(std::move(area), options.timeout_ns), options_(options), oversubscribed_(more_ranks_than_cpus(options)), team_(start_team(options)) {
        greet();
    }

    ~ProcessArena() override { team_.kill(); }

    bool oversubscribed() const override { return oversubscribed_; }
    bool bound() const override { return options_.bind && !oversubscribed_; }

private:
    int processes() const noexcept { return team_.size(); }
    int replies_per_process() const noexcept { return options_.ranks / processes(); }

    // Sends the set-up, serves the bootstrap until every rank says that it is up.
    void greet() {
        const Setup setup = setup_of(options_);
        for (int process = 0; process < processes(); ++process) {
            engine::send_packet(team_.control(process), engine::bytes_of(setup), area_.descriptor());
        }
        std::vector<bool> up(static_cast<std::size_t>(processes()), false);
        std::string failure;
        const auto all_up = [&] {
            for (int process = 0; process < processes(); ++process) {
                if (!up[static_cast<std::size_t>(process)]) up[static_cast<std::size_t>(process)] = greeted(process, failure);
            }
            return !failure.empty() || std::ranges::find(up, false) == up.end();
        };
        team_.serve(all_up, std::chrono::steady_clock::now() + std::chrono::nanoseconds(options_.timeout_ns));
        if (all_up() && failure.empty()) return;
        if (failure.empty() && !team_.exits().empty()) failure = describe_end(team_.exits().front());
        if (failure.empty()) failure = "not all ranks were up within the timeout";
        team_.kill();
        throw core::Error(core::ErrorCode::failure, "cannot start a team of " + std::to_string(options_.ranks) + " ranks: " + failure);
    }

    bool greeted(int process, std::string& failure) {
        if (!record_waits(team_.control(process))) return false;
        Reply hello;
        if (!engine::receive_packet(team_.control(process), std::as_writable_bytes(std::span(&hello, 1)))) return false;
        if (hello.outcome != CheckOutcome::ok && failure.empty()) failure = hello.text;
        return true;
    }

    Answers exchange(const Command& command, std::int64_t cap_ns) override {
        Answers answers;
        try {
            for (int process = 0; process < processes(); ++process)
                engine::send_packet(team_.control(process), engine::bytes_of(command));
            collect(core::now_ns() + cap_ns, answers);
        } catch (const core::Error& error) {
            answers.outcome = CheckOutcome::failed;
            answers.message = dead_process().value_or(error.what());
        }
        if (answers.outcome == CheckOutcome::timeout) {
            answers.message = "no answer within " + std::to_string(cap_ns / 1'000'000) + " ms; the team was killed";
        }
        // After a failure ranks may hang in half a call: nothing of this team can be used again.
        const bool failed = std::ranges::any_of(answers.replies, [](const Reply& reply) { return reply.outcome == CheckOutcome::failed; });
        if (failed || answers.outcome != CheckOutcome::ok) team_.kill();
        return answers;
    }

    void collect(std::int64_t deadline_ns, Answers& answers) {
        std::vector<int> missing(static_cast<std::size_t>(processes()), replies_per_process());
        while (std::ranges::any_of(missing, [](int count) { return count > 0; })) {
            std::vector<pollfd> entries;
            for (int process = 0; process < processes(); ++process) {
                entries.push_back({missing[static_cast<std::size_t>(process)] > 0 ? team_.control(process) : -1, POLLIN, 0});
            }
            const std::int64_t left_ms = (deadline_ns - core::now_ns() + 999'999) / 1'000'000;
            if (left_ms <= 0) {
                answers.outcome = CheckOutcome::timeout;
                return;
            }
            if (::poll(entries.data(), entries.size(), static_cast<int>(std::min<std::int64_t>(left_ms, 60'000))) <= 0) {
                if (!interrupted()) continue;
                answers.outcome = CheckOutcome::failed;
                answers.message = "interrupted";
                return;
            }
            for (std::size_t process = 0; process < entries.size(); ++process) {
                if (entries[process].revents != 0) take_reply(static_cast<int>(process), missing[process], answers);
            }
            if (answers.outcome != CheckOutcome::ok || gave_up(answers)) return;
        }
        std::ranges::sort(answers.replies, {}, &Reply::rank);
    }

    // One rank's failure ends the wait: the others may hang in the call that it left.
    static bool gave_up(const Answers& answers) {
        return std::ranges::any_of(answers.replies, [](const Reply& reply) { return reply.outcome == CheckOutcome::failed; });
    }

    void take_reply(int process, int& missing, Answers& answers) {
        Reply reply;
        if (engine::receive_packet(team_.control(process), std::as_writable_bytes(std::span(&reply, 1)))) {
            answers.replies.push_back(reply);
            --missing;
            return;
        }
        answers.outcome = CheckOutcome::failed;
        answers.message = dead_process().value_or("rank " + std::to_string(process) + " closed its control socket");
    }

    // Waits a moment for the exit status of whoever closed its socket.
    std::optional<std::string> dead_process() {
        team_.serve([&] { return !team_.exits().empty(); }, std::chrono::steady_clock::now() + death_notice);
        const std::vector<collectives::RankExit> exits = team_.exits();
        if (exits.empty()) return std::nullopt;
        return describe_end(exits.front());
    }

    std::string describe_end(const collectives::RankExit& end) const {
        const std::string who = in_threads(options_) ? "the process of all ranks" : "rank " + std::to_string(end.rank);
        if (end.status <= 128) return who + " exited with status " + std::to_string(end.status);
        return who + " was killed by signal " + std::to_string(end.status - 128) + " (" + ::strsignal(end.status - 128) + ")";
    }

    TeamOptions options_;
    bool oversubscribed_;
    collectives::Team team_;
};

}  // namespace

std::unique_ptr<Arena> launch_process_arena(const TeamOptions& options) {
    return std::make_unique<ProcessArena>(options, engine::SharedArea::create(options.ranks));
}

}  // namespace attune::tuner
