// Exact validation of one candidate, outside any timed region.
#include "tuner/engine/check_data.hpp"
#include "tuner/engine/rank_engine.hpp"

#include <string>

namespace attune::tuner::engine {

namespace {

using collectives::Collective;

// Small calls go once around the four in-flight slots of a communicator, so that a slot that keeps old data is seen; large ones run twice.
constexpr std::uint64_t small_bytes = 64 * 1024;
constexpr std::uint64_t small_rounds = 5;
constexpr std::uint64_t large_rounds = 2;

struct Check {
    const Candidate& candidate;
    Meeting& meeting;
    Reply& reply;

    void add(std::uint64_t wrong, const std::string& what) const {
        if (wrong == 0) return;
        if (reply.wrong == 0) set_text(reply.text, "rank " + std::to_string(meeting.rank()) + ": " + what);
        reply.wrong += wrong;
        reply.outcome = CheckOutcome::wrong;
    }
};

bool owns_input(const Candidate& candidate, int rank) {
    return candidate.problem.collective != Collective::broadcast || candidate.problem.root == rank;
}

std::span<std::byte> own_input(const Candidate& candidate) {
    return {candidate.buffers.own_input(), candidate.problem.input_elements() * core::size_of(candidate.problem.dtype)};
}

std::span<const std::byte> own_output(const Candidate& candidate) {
    return {candidate.buffers.own_output(), candidate.problem.output_elements() * core::size_of(candidate.problem.dtype)};
}

void write_round(const Check& check, std::uint64_t round) {
    BufferRing& buffers = check.candidate.buffers;
    poison(buffers.output_buffer().span());
    poison(buffers.input_buffer().span());
    const int rank = check.meeting.rank();
    if (owns_input(check.candidate, rank)) write_input(check.candidate.problem, rank, round, own_input(check.candidate));
}

void compare_round(const Check& check, std::uint64_t round) {
    const collectives::Problem& problem = check.candidate.problem;
    const int rank = check.meeting.rank();
    const Difference output = compare_output(problem, rank, round, own_output(check.candidate));
    check.add(output.wrong, "output " + output.first + " (" + std::to_string(output.wrong) + " of " + std::to_string(problem.output_elements()) + " wrong)");
    if (problem.in_place || !owns_input(check.candidate, rank)) return;
    const Difference input = compare_input(problem, rank, round, own_input(check.candidate));
    check.add(input.wrong, "the call changed its input: " + input.first);
}

void compare_guards(const Check& check) {
    BufferRing& buffers = check.candidate.buffers;
    check.add(buffers.output_buffer().guards_intact() ? 0 : 1, "the call wrote outside its output buffer");
    check.add(buffers.input_buffer().guards_intact() ? 0 : 1, "the call wrote outside its input buffer");
}

// Ranks that must hold the same bits compare a digest with rank 0's.
void compare_ranks(const Check& check) {
    const Collective collective = check.candidate.problem.collective;
    if (collective == Collective::reduce_scatter || collective == Collective::barrier) return;
    SharedArea& area = check.meeting.area();
    const std::uint64_t digest = content_digest(own_output(check.candidate));
    area.lines(check.meeting.rank()).digest.value.store(digest, std::memory_order_release);
    check.meeting.barrier();
    const std::uint64_t first = area.lines(0).digest.value.load(std::memory_order_acquire);
    check.add(digest == first ? 0 : 1, "the result differs from rank 0's");
    check.meeting.barrier();  // nobody overwrites a digest that is still read
}

// A barrier is right when no rank leaves before all have entered.
void check_barrier(const Check& check) {
    SharedArea& area = check.meeting.area();
    auto& mine = area.lines(check.meeting.rank()).entered.value;
    mine.fetch_add(1, std::memory_order_release);
    const std::uint64_t round = mine.load(std::memory_order_relaxed);
    check.candidate.run(nullptr, nullptr);
    for (int peer = 0; peer < check.meeting.size(); ++peer) {
        const bool entered = area.lines(peer).entered.value.load(std::memory_order_acquire) >= round;
        check.add(entered ? 0 : 1, "left the barrier before rank " + std::to_string(peer) + " had entered it");
    }
}

}  // namespace

void check(const Candidate& candidate, Meeting& meeting, Reply& reply) {
    const Check check{candidate, meeting, reply};
    const std::uint64_t rounds = candidate.problem.bytes() <= small_bytes ? small_rounds : large_rounds;
    for (std::uint64_t round = 0; round < rounds; ++round) {
        meeting.barrier();
        if (candidate.problem.collective == Collective::barrier) {
            check_barrier(check);
            continue;
        }
        write_round(check, round);
        candidate.run(candidate.buffers.input(), candidate.buffers.output());
        compare_round(check, round);
        compare_ranks(check);
    }
    compare_guards(check);
    fill_ones(candidate.buffers.input_buffer().span(), candidate.problem.dtype);  // ordinary numbers for the timed calls
}

}  // namespace attune::tuner::engine
