#include "tuner/engine/completion.hpp"

#include "libcore/clock.hpp"
#include "libcore/samples.hpp"

#include <vector>

namespace attune::tuner::engine {

namespace {

using collectives::Collective;

constexpr int empty_rounds = 101;

}  // namespace

CompletionKind completion_kind(const collectives::Problem& problem) noexcept {
    switch (problem.collective) {
        case Collective::broadcast:
        case Collective::scatter:
        case Collective::scatter_v:
            return CompletionKind::root_waits;
        case Collective::reduce:
        case Collective::gather:
        case Collective::gather_v:
        case Collective::scan:
        case Collective::exscan:
            return CompletionKind::all_wait;
        case Collective::all_gather_v:
        case Collective::reduce_scatter_v:
        case Collective::all_to_all_v:
        case Collective::send_recv:
        case Collective::batch_send_recv:
            return CompletionKind::all_for_all;
        default:
            return CompletionKind::none;
    }
}

Completion::Completion(const collectives::Problem& problem, Meeting& meeting)
    : kind_(completion_kind(problem)), one_(collectives::is_rooted(problem.collective) ? problem.root : problem.ranks - 1), meeting_(meeting) {}

void Completion::begin() {
    base_ = meeting_.area().lines(meeting_.rank()).done.value.load(std::memory_order_relaxed);
    completed_ = 0;
}

void Completion::wait_for(int rank, std::uint64_t count) {
    const auto& done = meeting_.area().lines(rank).done.value;
    meeting_.wait([&] { return done.load(std::memory_order_acquire) >= count; });
}

void Completion::wait_for_all() {
    for (int peer = 0; peer < meeting_.size(); ++peer)
        wait_for(peer, base_ + completed_);
}

void Completion::complete() {
    ++completed_;
    // Release pairs with the acquire of whoever waits: what the call wrote is there.
    meeting_.area().lines(meeting_.rank()).done.value.store(base_ + completed_, std::memory_order_release);
    if (kind_ == CompletionKind::all_wait) return wait_for(one_, base_ + completed_);
    if (kind_ == CompletionKind::all_for_all || meeting_.rank() == one_) wait_for_all();
}

// What stands in the collective's place in an empty round: word from the one to all, or from all to the one.
void Completion::announce(std::uint64_t round) {
    SharedArea& area = meeting_.area();
    if (kind_ == CompletionKind::root_waits) {
        auto& token = area.common().token.value;
        if (meeting_.rank() == one_) return token.store(round, std::memory_order_release);
        return meeting_.wait([&] { return token.load(std::memory_order_acquire) >= round; });
    }
    if (meeting_.rank() != one_) return area.lines(meeting_.rank()).go.value.store(round, std::memory_order_release);
    for (int peer = 0; peer < meeting_.size(); ++peer) {
        if (peer == one_) continue;
        const auto& go = area.lines(peer).go.value;
        meeting_.wait([&] { return go.load(std::memory_order_acquire) >= round; });
    }
}

// Half of a round is what completing costs, the other half is announcing. Waiting for everybody has no such other half.
double Completion::cost_ns() {
    std::vector<double> rounds;
    meeting_.barrier();
    for (int round = 0; round < empty_rounds; ++round) {
        const std::int64_t start = core::now_ns();
        if (kind_ != CompletionKind::all_for_all) announce(base_ + completed_ + 1);  // equal on all ranks, and never seen before
        complete();
        rounds.push_back(static_cast<double>(core::now_ns() - start));
    }
    meeting_.barrier();
    return core::median(rounds) / (kind_ == CompletionKind::all_for_all ? 1 : 2);
}

}  // namespace attune::tuner::engine
