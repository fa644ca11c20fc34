// Chain: each rank keeps what comes from the one before and passes on its fold with the own vector. (p-1)(alpha + n beta) + (p-2) n gamma; to be cut in
// segments.
#include "collectives/algorithms/algorithms.hpp"

#include <array>

namespace attune::collectives::algorithms {

namespace {

// Leaves the fold of all ranks up to this one in `next`. In place the message must not overwrite the own vector before the fold has read it.
void receive_and_fold(Builder& builder, const Part& part, const Slice& next) {
    const Slice output = part.whole(BufferId::output);
    const Slice before = part.problem.in_place ? builder.scratch(part.length) : output;
    builder.recv(part.rank - 1, before);
    const std::array terms = {Term::local(before), Term::local(part.whole(BufferId::input))};
    builder.fold(terms, next);
    if (part.problem.in_place) builder.copy(before, output);
}

}  // namespace

Program exscan_linear(const Part& part) {
    Builder builder(part.rank);
    const Rank last = part.ranks() - 1;
    const bool folds = part.rank > 0 && part.rank < last;
    const Slice next = folds ? builder.scratch(part.length) : part.whole(BufferId::input);
    for (Rank k = 0; k < last; ++k) {
        if (part.rank == k) builder.send(k + 1, next);
        if (part.rank == k + 1 && folds) receive_and_fold(builder, part, next);
        if (part.rank == k + 1 && !folds) builder.recv(k, part.whole(BufferId::output));
        builder.end_round();
    }
    if (last == 0) builder.end_round();
    return builder.finish();
}

}  // namespace attune::collectives::algorithms
