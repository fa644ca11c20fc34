// Times one candidate: iterations from a common start, short calls in batches.
#include "libcore/clock.hpp"
#include "tuner/engine/arrival.hpp"
#include "tuner/engine/completion.hpp"
#include "tuner/engine/rank_engine.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace attune::tuner::engine {

namespace {

constexpr double batch_below_ns = 5000;   // shorter calls are timed in batches
constexpr double batch_lasts_ns = 20000;  // wished; at least 10 us are promised, also when later calls are faster
constexpr std::uint64_t batch_limit = 4096;
constexpr std::uint64_t first_calls = 4;  // of the calibration

// The calls of one sample command on one rank.
class Run {
public:
    Run(const Candidate& candidate, Meeting& meeting, const Command& command)
        : candidate_(candidate), rotate_(command.cache == CacheMode::rotate), completion_(candidate.problem, meeting) {
        if (rotate_) candidate_.buffers.make_ring();
    }

    // An answer ends a call for both sides.
    bool completes() const noexcept { return completion_.needed() && !candidate_.back; }
    Completion& completion() noexcept { return completion_; }

    // Writes the first element of the next call's input, as its owner would.
    void touch() noexcept {
        const BufferRing::Pair pair = next_pair();
        if (pair.touched == nullptr) return;
        volatile std::byte* first = pair.touched;
        *first = *pair.touched;
    }

    void calls(std::uint64_t count, bool completed) {
        for (std::uint64_t call = 0; call < count; ++call) {
            const BufferRing::Pair pair = next_pair();
            candidate_.run(pair.input, pair.output);
            if (candidate_.back) candidate_.back(pair.input, pair.output);
            ++turn_;
            if (completed) completion_.complete();
        }
    }

private:
    BufferRing::Pair next_pair() noexcept { return rotate_ ? candidate_.buffers.pair(turn_) : candidate_.buffers.hot_pair(); }

    const Candidate& candidate_;
    bool rotate_;
    Completion completion_;
    std::uint64_t turn_ = 0;
};

// All ranks run the calls; rank 0 decides how many calls make a batch and tells the others.
std::uint64_t calibrate(Run& run, Meeting& meeting) {
    auto& agreed = meeting.area().common().batch.value;
    std::uint64_t batch = first_calls;
    for (int refinement = 0; refinement < 2; ++refinement) {
        const std::int64_t start = meeting.common_start();
        run.calls(batch, run.completes());
        if (meeting.rank() == 0) {
            const double per_call = std::max(static_cast<double>(core::now_ns() - start) / static_cast<double>(batch), 1.0);
            const auto wished = static_cast<std::uint64_t>(std::ceil(batch_lasts_ns / per_call));
            agreed.store(per_call >= batch_below_ns ? 1 : std::min(wished, batch_limit), std::memory_order_release);
        }
        meeting.barrier();
        batch = agreed.load(std::memory_order_acquire);
        meeting.barrier();
        if (batch == 1) break;
    }
    return batch;
}

// Where the ranks outnumber the processors a spinning rank would keep the others from arriving.
std::int64_t arrive(std::int64_t start, std::int64_t after, bool oversubscribed) {
    std::int64_t now = start;
    while (now < start + after) {
        if (oversubscribed)
            sched_yield();
        else
            pause_cpu();
        now = core::now_ns();
    }
    return now;
}

void time_iterations(Run& run, Meeting& meeting, const Command& command, std::uint64_t batch) {
    const auto starts = meeting.area().starts(meeting.rank());
    const auto ends = meeting.area().ends(meeting.rank());
    const bool completed = run.completes() && batch > 1;
    const Arrival arrival{command.skew, command.skew_ns, command.seed};
    const std::uint64_t iterations = std::min<std::uint64_t>(command.iterations, SharedArea::row_capacity);
    for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
        run.touch();
        starts[iteration] = meeting.common_start();
        if (command.skew != Skew::none) {
            const std::int64_t after = arrival.after_ns(iteration, meeting.rank(), meeting.size());
            starts[iteration] = arrive(starts[iteration], after, meeting.oversubscribed());
        }
        run.calls(batch, completed);
        ends[iteration] = core::now_ns();
    }
}

void stream(Run& run, Meeting& meeting, std::uint64_t calls) {
    meeting.area().starts(meeting.rank())[0] = meeting.common_start();
    run.calls(calls, false);
    meeting.area().ends(meeting.rank())[0] = core::now_ns();
}

std::uint64_t batch_of(Run& run, Meeting& meeting, const Command& command) {
    if (command.skew != Skew::none) return 1;  // a batch would arrive late once
    return command.batch == 0 ? calibrate(run, meeting) : command.batch;
}

}  // namespace

void sample(const Candidate& candidate, Meeting& meeting, const Command& command, Reply& reply) {
    Run run(candidate, meeting, command);
    run.completion().begin();
    meeting.barrier();
    run.calls(command.warm_up, false);
    reply.batch = batch_of(run, meeting, command);
    if (command.start == StartMode::streaming) {
        reply.calls = command.iterations * reply.batch * candidate.legs();
        reply.rows = 1;
        return stream(run, meeting, command.iterations * reply.batch);
    }
    reply.rows = std::min<std::uint64_t>(command.iterations, SharedArea::row_capacity);
    reply.calls = reply.batch * candidate.legs();
    if (run.completes() && reply.batch > 1) reply.overhead_ns = run.completion().cost_ns();
    time_iterations(run, meeting, command, reply.batch);
}

}  // namespace attune::tuner::engine
