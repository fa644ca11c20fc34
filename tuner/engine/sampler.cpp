// Times one candidate: iterations from a common start, short calls in batches.
#include "libcore/clock.hpp"
#include "libcore/samples.hpp"
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
constexpr int acknowledgement_rounds = 101;

// The calls of one sample command on one rank.
class Run {
public:
    Run(const Candidate& candidate, Meeting& meeting, const Command& command)
        : candidate_(candidate),
          meeting_(meeting),
          rotate_(command.cache == CacheMode::rotate),
          rooted_(collectives::is_rooted(candidate.problem.collective) && meeting.size() > 1) {
        if (rotate_) candidate_.buffers.make_ring();
    }

    bool rooted() const noexcept { return rooted_; }

    // Writes the first element of the next call's input, as its owner would.
    void touch() noexcept {
        const BufferRing::Pair pair = next_pair();
        if (pair.touched == nullptr) return;
        volatile std::byte* first = pair.touched;
        *first = *pair.touched;
    }

    void calls(std::uint64_t count, bool acknowledged) {
        for (std::uint64_t call = 0; call < count; ++call) {
            const BufferRing::Pair pair = next_pair();
            candidate_.run(pair.input, pair.output);
            ++turn_;
            if (acknowledged) acknowledge();
        }
    }

    // The root goes on when the last rank has finished the call, else a batch would time only how fast the root can send ahead.
    void acknowledge() {
        SharedArea& area = meeting_.area();
        ++acknowledged_;
        area.lines(meeting_.rank()).done.value.store(base_ + acknowledged_, std::memory_order_release);
        if (meeting_.rank() != candidate_.problem.root) return;
        for (int peer = 0; peer < meeting_.size(); ++peer) {
            const auto& done = area.lines(peer).done.value;
            meeting_.wait([&] { return done.load(std::memory_order_acquire) >= base_ + acknowledged_; });
        }
    }

    // `done` only grows, over all commands of a launch. Called at a barrier, by all ranks.
    void begin_acknowledgements() {
        base_ = meeting_.area().lines(meeting_.rank()).done.value.load(std::memory_order_relaxed);
        acknowledged_ = 0;
    }

    // Half of a round "root says go, all acknowledge" is what an acknowledgement alone costs: the other half stands in the collective's place.
    double acknowledgement_ns() {
        std::vector<double> rounds;
        auto& token = meeting_.area().common().token.value;
        const std::uint64_t before = token.load(std::memory_order_acquire);
        meeting_.barrier();
        for (int round = 1; round <= acknowledgement_rounds; ++round) {
            const std::uint64_t go = before + static_cast<std::uint64_t>(round);
            const std::int64_t start = core::now_ns();
            if (meeting_.rank() == candidate_.problem.root) {
                token.store(go, std::memory_order_release);
            } else {
                meeting_.wait([&] { return token.load(std::memory_order_acquire) >= go; });
            }
            acknowledge();
            rounds.push_back(static_cast<double>(core::now_ns() - start));
        }
        meeting_.barrier();
        return core::median(rounds) / 2;
    }

private:
    BufferRing::Pair next_pair() noexcept {
        if (rotate_) return candidate_.buffers.pair(turn_);
        return {candidate_.buffers.input_buffer().data(), candidate_.buffers.output(), touchable()};
    }
    std::byte* touchable() noexcept { return candidate_.problem.bytes() == 0 ? nullptr : candidate_.buffers.own_input(); }

    const Candidate& candidate_;
    Meeting& meeting_;
    bool rotate_;
    bool rooted_;
    std::uint64_t turn_ = 0;
    std::uint64_t base_ = 0, acknowledged_ = 0;
};

// All ranks run the calls; rank 0 decides how many calls make a batch and tells the others.
std::uint64_t calibrate(Run& run, Meeting& meeting) {
    auto& agreed = meeting.area().common().batch.value;
    std::uint64_t batch = first_calls;
    for (int refinement = 0; refinement < 2; ++refinement) {
        const std::int64_t start = meeting.common_start();
        run.calls(batch, run.rooted());
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

void time_iterations(Run& run, Meeting& meeting, std::uint64_t iterations, std::uint64_t batch) {
    const auto starts = meeting.area().starts(meeting.rank());
    const auto ends = meeting.area().ends(meeting.rank());
    const bool acknowledged = run.rooted() && batch > 1;
    for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
        run.touch();
        starts[iteration] = meeting.common_start();
        run.calls(batch, acknowledged);
        ends[iteration] = core::now_ns();
    }
}

}  // namespace

void sample(const Candidate& candidate, Meeting& meeting, const Command& command, Reply& reply) {
    Run run(candidate, meeting, command);
    run.begin_acknowledgements();
    meeting.barrier();
    run.calls(command.warm_up, false);
    reply.batch = command.batch == 0 ? calibrate(run, meeting) : command.batch;
    reply.rows = std::min<std::uint64_t>(command.iterations, SharedArea::row_capacity);
    if (command.start == StartMode::streaming) {
        reply.calls = command.iterations * reply.batch;
        reply.rows = 1;
        meeting.area().starts(meeting.rank())[0] = meeting.common_start();
        run.calls(reply.calls, false);
        meeting.area().ends(meeting.rank())[0] = core::now_ns();
        return;
    }
    reply.calls = reply.batch;
    if (run.rooted() && reply.batch > 1) reply.overhead_ns = run.acknowledgement_ns();
    time_iterations(run, meeting, reply.rows, reply.batch);
}

}  // namespace attune::tuner::engine
