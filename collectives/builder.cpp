#include "collectives/builder.hpp"

#include <array>
#include <utility>

namespace attune::collectives {

namespace {

Step step_into(StepKind kind, const Slice& destination) {
    Step step;
    step.kind = kind;
    step.destination = destination.buffer;
    step.destination_offset = destination.offset;
    step.length = destination.length;
    return step;
}

Step step_of(const Term& term, const Slice& destination, bool first) {
    Step step = step_into(StepKind::recv, destination);
    if (term.peer >= 0) {
        step.peer = term.peer;
    } else {
        step.kind = first ? StepKind::copy : StepKind::reduce;
        step.source = term.buffer;
        step.source_offset = term.offset;
    }
    step.joined = !first;
    return step;
}

}  // namespace

std::span<const Step> Program::round(std::size_t index) const noexcept {
    const std::size_t begin = index == 0 ? 0 : round_end[index - 1];
    return std::span(steps).subspan(begin, round_end[index] - begin);
}

Slice Builder::scratch(std::uint64_t elements) {
    const Slice slice{BufferId::scratch, program_.scratch_elements, elements};
    program_.scratch_elements += elements;
    return slice;
}

void Builder::send(Rank peer, const Slice& source) {
    if (dropped(source)) return;
    Step step;
    step.kind = StepKind::send;
    step.peer = peer;
    step.source = source.buffer;
    step.source_offset = source.offset;
    step.length = source.length;
    program_.steps.push_back(step);
}

void Builder::multicast(std::span<const Rank> peers, const Slice& source) {
    for (const Rank peer : peers)
        send(peer, source);
}

void Builder::recv(Rank peer, const Slice& destination) {
    const Term term = Term::message(peer);
    fold({&term, 1}, destination);
}

void Builder::copy(const Slice& source, const Slice& destination) {
    const Term term = Term::local(source);
    fold({&term, 1}, destination);
}

void Builder::recv_reduce(Rank peer, const Slice& destination) {
    recv_reduce(peer, destination, destination);
}

void Builder::recv_reduce(Rank peer, const Slice& own, const Slice& destination, Finish finish) {
    const std::array terms = {Term::message(peer), Term::local(own)};
    fold(terms, destination, finish);
}

void Builder::fold(std::span<const Term> terms, const Slice& destination, Finish finish) {
    if (dropped(destination)) return;
    for (std::size_t index = 0; index < terms.size(); ++index)
        program_.steps.push_back(step_of(terms[index], destination, index == 0));
    if (finish == Finish::store) return;
    program_.steps.push_back(step_into(StepKind::scale, destination));
    program_.steps.back().joined = true;
}

void Builder::end_round() {
    program_.round_end.push_back(static_cast<std::uint32_t>(program_.steps.size()));
}

Program Builder::finish() {
    return std::exchange(program_, Program{program_.rank, 0, {}, {}});
}

}  // namespace attune::collectives
