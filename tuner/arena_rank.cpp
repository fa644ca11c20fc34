// The hidden subcommand `arena-rank`: what a rank process of an arena does from its start to `quit`.
#include "collectives/communicator.hpp"
#include "libcore/environment.hpp"
#include "libcore/error.hpp"
#include "tuner/arena_factory.hpp"
#include "tuner/engine/rank_engine.hpp"
#include "tuner/engine/rank_threads.hpp"

#include <csignal>
#include <cstdio>
#include <exception>
#include <string>

#include <unistd.h>

namespace attune::tuner {

namespace {

using engine::Command;
using engine::CommandKind;
using engine::Reply;
using engine::Setup;

void send_reply(int control, const Reply& reply) {
    engine::send_packet(control, engine::bytes_of(reply));
}

// Answers one command after another; sleeps in between. Returns when told to quit or when the tool is gone.
template <class Execute>
void serve(int control, Execute execute) {
    Command command;
    while (engine::receive_packet(control, std::as_writable_bytes(std::span(&command, 1))) && command.kind != CommandKind::quit)
        execute(command);
}

void serve_as_process(int control, const core::Environment& environment, const Setup& setup, engine::SharedArea& area) {
    const int rank = environment.rank.value();
    const auto bootstrap = collectives::make_launcher_bootstrap(rank, setup.ranks, control);
    collectives::Communicator communicator(*bootstrap, engine::communicator_options(setup));
    engine::Meeting meeting(area, rank, setup.oversubscribed != 0, setup.timeout_ns);
    engine::RankEngine engine(communicator, meeting, setup.cache_bytes);
    Reply hello;
    hello.rank = rank;
    send_reply(control, hello);
    serve(control, [&](const Command& command) { send_reply(control, engine.execute(command)); });
}

void serve_as_threads(int control, const Setup& setup, engine::SharedArea& area) {
    engine::RankThreads threads(setup, area);
    send_reply(control, Reply{});
    serve(control, [&](const Command& command) {
        for (const Reply& reply : threads.execute(command))
            send_reply(control, reply);
    });
}

void report_failure(int control, int rank, const std::string& what) noexcept {
    try {
        Reply reply;
        reply.rank = rank;
        reply.outcome = CheckOutcome::failed;
        engine::set_text(reply.text, "rank " + std::to_string(rank) + ": " + what);
        send_reply(control, reply);
    } catch (const std::exception&) {
        // The tool is gone: nobody is left to tell.
    }
}

int run(int control, const core::Environment& environment) {
    try {
        Setup setup;
        int descriptor = -1;
        if (!engine::receive_packet(control, std::as_writable_bytes(std::span(&setup, 1)), &descriptor)) return 1;
        engine::SharedArea area = engine::SharedArea::attach(descriptor, setup.ranks);
        ::close(descriptor);
        if (setup.threads != 0) {
            serve_as_threads(control, setup, area);
        } else {
            serve_as_process(control, environment, setup, area);
        }
        return 0;
    } catch (const std::exception& error) {
        report_failure(control, environment.rank.value_or(0), error.what());
        return 1;
    }
}

}  // namespace

int arena_rank_main() {
    try {
        // Ctrl-C reaches the whole process group; the tool decides when its ranks end.
        ::signal(SIGINT, SIG_IGN);
        const core::Environment environment = core::read_environment();
        if (environment.launch_fd && environment.rank) return run(*environment.launch_fd, environment);
        std::fprintf(stderr, "attune: error: '%s' is started by attune's own tools only\n", arena_rank_word);
        return static_cast<int>(core::ErrorCode::usage);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "attune: error: %s\n", error.what());
        return 1;
    }
}

}  // namespace attune::tuner
