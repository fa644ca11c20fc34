#include "tuner/engine/rank_engine.hpp"

#include "libcore/error.hpp"
#include "tuner/engine/work_text.hpp"

#include <exception>
#include <string>

namespace attune::tuner::engine {

namespace {

const core::Config& config_of(const Work& work, std::uint64_t index) {
    if (index >= work.configs.size()) {
        throw core::Error(core::ErrorCode::failure,
                          "the arena has no candidate " + std::to_string(index) + "; " + std::to_string(work.configs.size()) + " are loaded");
    }
    return work.configs[index];
}

}  // namespace

Reply RankEngine::execute(const Command& command) noexcept {
    Reply reply;
    reply.rank = meeting_.rank();
    try {
        if (command.kind == CommandKind::load) load(command);
        if (command.kind == CommandKind::ping) ping(meeting_, reply);
        if (command.kind == CommandKind::check || command.kind == CommandKind::sample) {
            const core::Config& config = config_of(work_, command.index);
            const auto run = [&](const void* input, void* output) { communicator_.run(work_.problem, config, input, output); };
            const Candidate candidate{work_.problem, buffers_.value(), run};
            command.kind == CommandKind::check ? check(candidate, meeting_, reply) : sample(candidate, meeting_, command, reply);
        }
    } catch (const std::exception& error) {
        meeting_.give_up();
        reply.outcome = CheckOutcome::failed;
        set_text(reply.text, "rank " + std::to_string(meeting_.rank()) + ": " + error.what());
    }
    return reply;
}

void RankEngine::load(const Command& command) {
    work_ = parse_work(meeting_.area().text(command.text_bytes));
    buffers_.reset();  // the old buffers go before the new ones come
    buffers_.emplace(work_.problem, meeting_.rank(), cache_bytes_);
}

}  // namespace attune::tuner::engine
