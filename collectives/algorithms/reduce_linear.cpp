// Everyone sends the whole vector to the root, which folds in rank order: alpha + (p-1)(o + n beta + n gamma) at the root.
#include "collectives/algorithms/algorithms.hpp"

namespace attune::collectives::algorithms {

Program reduce_linear(const Part& part) {
    Builder builder(part.rank);
    const Slice input = part.whole(BufferId::input);
    const Slice output = part.whole(BufferId::output);
    if (part.rank != part.problem.root) {
        builder.send(part.problem.root, input);
    } else if (part.ranks() == 1) {
        copy_own(builder, part, input, output);
    } else {
        rank_order_fold(builder, part, input, output);
    }
    builder.end_round();
    return builder.finish();
}

}  // namespace attune::collectives::algorithms
