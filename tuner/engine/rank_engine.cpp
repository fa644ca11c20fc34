#include "tuner/engine/rank_engine.hpp"

#include "collectives/amounts.hpp"
#include "libcore/error.hpp"
#include "tuner/engine/work_text.hpp"

#include <exception>
#include <memory>
#include <string>
#include <utility>

namespace attune::tuner::engine {

namespace {

const core::Config& config_of(const Work& work, std::uint64_t index) {
    if (index >= work.configs.size()) {
        throw core::Error(core::ErrorCode::failure,
                          "the arena has no candidate " + std::to_string(index) + "; " + std::to_string(work.configs.size()) + " are loaded");
    }
    return work.configs[index];
}

// Whoever sent receives.
collectives::Problem answer_to(collectives::Problem problem) {
    if (!problem.amounts) return problem;
    collectives::Amounts amounts = *problem.amounts;
    std::swap(amounts.destination, amounts.source);
    problem.amounts = std::make_shared<const collectives::Amounts>(std::move(amounts));
    return problem;
}

}  // namespace

Reply RankEngine::execute(const Command& command) noexcept {
    Reply reply;
    reply.rank = meeting_.rank();
    try {
        if (command.kind == CommandKind::load) load(command);
        if (command.kind == CommandKind::ping) ping(meeting_, reply);
        if (command.kind == CommandKind::copy) copy_limit(meeting_, command.bytes, reply);
        if (command.kind == CommandKind::check || command.kind == CommandKind::sample) {
            const Candidate candidate = candidate_of(config_of(work_, command.index));
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
    own_ = collectives::view_of(work_.problem, meeting_.rank());
    back_ = answer_to(own_);
    buffers_.reset();  // the old buffers go before the new ones come
    buffers_.emplace(work_.problem, meeting_.rank(), cache_bytes_);
}

Candidate RankEngine::candidate_of(const core::Config& config) {
    Candidate candidate{work_.problem, buffers_.value(), {}};
    candidate.run = [this, &config](const void* input, void* output) { communicator_.run(own_, config, input, output); };
    if (work_.and_back) candidate.back = [this, &config](const void* input, void* output) { communicator_.run(back_, config, input, output); };
    return candidate;
}

}  // namespace attune::tuner::engine
