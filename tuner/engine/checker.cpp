// Exact validation of one candidate, outside any timed region.
#include "tuner/engine/check_data.hpp"
#include "tuner/engine/rank_engine.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

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

std::span<std::byte> own_input(const Candidate& candidate) {
    return candidate.buffers.own_input();
}

std::span<const std::byte> own_output(const Candidate& candidate) {
    return candidate.buffers.own_output();
}

void write_round(const Check& check, std::uint64_t round) {
    BufferRing& buffers = check.candidate.buffers;
    poison(buffers.output_buffer().span());
    poison(buffers.input_buffer().span());
    const int rank = check.meeting.rank();
    if (has_input(check.candidate.problem, rank)) write_input(check.candidate.problem, rank, round, own_input(check.candidate));
}

void compare_input_kept(const Check& check, std::uint64_t round) {
    const collectives::Problem& problem = check.candidate.problem;
    const int rank = check.meeting.rank();
    if (!has_input(problem, rank) || !input_survives(problem, rank)) return;
    const Difference input = compare_input(problem, rank, round, own_input(check.candidate));
    check.add(input.wrong, "the call changed its input: " + input.first);
}

// Bytes of the output buffer that a right call may have written, or that hold this rank's input in place.
std::vector<Range> written_ranges(const Check& check) {
    const collectives::Problem& problem = check.candidate.problem;
    BufferRing& buffers = check.candidate.buffers;
    const std::size_t element = core::size_of(problem.dtype);
    const auto offset = [&](const std::byte* at) { return static_cast<std::size_t>(at - buffers.output_buffer().data()); };
    std::vector<Range> ranges;
    for (const Piece& piece : expected_pieces(problem, check.meeting.rank())) {
        const std::size_t begin = offset(own_output(check.candidate).data()) + piece.at * element;
        ranges.push_back({begin, begin + piece.count * element});
    }
    if (problem.in_place && has_input(problem, check.meeting.rank())) {
        const std::size_t begin = offset(own_input(check.candidate).data());
        ranges.push_back({begin, begin + own_input(check.candidate).size()});
    }
    return ranges;
}

void compare_untouched(const Check& check) {
    const collectives::Problem& problem = check.candidate.problem;
    if (may_write_elsewhere(problem)) return;
    const Difference rest = compare_poison(check.candidate.buffers.output_buffer().span(), written_ranges(check), core::size_of(problem.dtype));
    check.add(rest.wrong, "the call wrote where its result does not belong: " + rest.first + " of the output buffer");
}

void compare_round(const Check& check, std::uint64_t round) {
    const Difference output = compare_output(check.candidate.problem, check.meeting.rank(), round, own_output(check.candidate));
    check.add(output.wrong, "output " + output.first + " (" + std::to_string(output.wrong) + " elements wrong)");
    compare_input_kept(check, round);
    compare_untouched(check);
}

void compare_guards(const Check& check) {
    BufferRing& buffers = check.candidate.buffers;
    check.add(buffers.output_buffer().guards_intact() ? 0 : 1, "the call wrote outside its output buffer");
    check.add(buffers.input_buffer().guards_intact() ? 0 : 1, "the call wrote outside its input buffer");
}

bool equal_on_all_ranks(Collective collective) {
    constexpr std::array equal = {Collective::all_reduce, Collective::all_gather, Collective::broadcast, Collective::all_gather_v};
    return std::ranges::find(equal, collective) != equal.end();
}

// Ranks that must hold the same bits compare a digest with rank 0's.
void compare_ranks(const Check& check) {
    if (!equal_on_all_ranks(check.candidate.problem.collective)) return;
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
