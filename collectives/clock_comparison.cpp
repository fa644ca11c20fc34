#include "collectives/clock_comparison.hpp"

#include "collectives/communicator_state.hpp"
#include "libcore/clock.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace attune::collectives {

namespace {

std::int64_t round_trip(const ClockAnswer& answer) noexcept {
    return answer.answered_ns - answer.asked_ns;
}

Problem one_word(Rank from, Rank to, Rank self) {
    Amounts amounts;
    if (self == from) amounts.destination = to;
    if (self == to) amounts.source = from;
    Problem problem;
    problem.collective = Collective::send_recv;
    problem.dtype = core::DType::int64;
    problem.count = 1;
    problem.amounts = std::make_shared<const Amounts>(std::move(amounts));
    return problem;
}

}  // namespace

core::ClockOffset offset_from(std::span<const ClockAnswer> answers) noexcept {
    const ClockAnswer& best = *std::ranges::min_element(answers, {}, round_trip);
    const std::int64_t half = round_trip(best) / 2;
    return {best.asked_ns + half - best.other_ns, half + 1};
}

// Rank 0 asks; all ranks make the same calls, most of them with nothing to send.
core::ClockOffset Communicator::State::offset_of(Rank other) {
    constexpr const char* purpose = "the comparison of clocks";
    const Rank self = transport->rank();
    const CachedCall ask = standard_call(one_word(0, other, self), purpose), answer = standard_call(one_word(other, 0, self), purpose);
    std::vector<ClockAnswer> answers(clock_questions);
    for (ClockAnswer& one : answers) {
        std::int64_t question = 0, reply = 0;
        one.asked_ns = core::now_ns();
        run_uncounted(ask, &question, &reply);
        if (self == other) question = core::now_ns();
        run_uncounted(answer, &question, &reply);
        one.other_ns = reply;
        one.answered_ns = core::now_ns();
    }
    return offset_from(answers);
}

void Communicator::State::compare_clocks() {
    const std::vector<Rank>& clock_of = facts.clock_of;
    if (clock_of.empty()) return;
    std::vector<core::ClockOffset> offsets(clock_of.size());
    for (Rank rank = 1; rank < transport->size(); ++rank) {
        const auto at = static_cast<std::size_t>(rank);
        if (clock_of[at] == rank) offsets[at] = offset_of(rank);
    }
    broadcast_bytes(offsets.data(), offsets.size() * sizeof(core::ClockOffset));
    const auto own = static_cast<std::size_t>(clock_of[static_cast<std::size_t>(transport->rank())]);
    if (options.trace != nullptr) options.trace->set_clock(offsets[own]);
}

}  // namespace attune::collectives
