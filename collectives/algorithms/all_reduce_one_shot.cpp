// Everyone sends the whole vector to everyone and folds in rank order: one message deep, (p-1)n bytes and (p-1)n reductions per rank.
// alpha + (p-1)(o + n beta + n gamma). The one-shot mesh all_reduce of HCCL; Open MPI 7 calls it all_gather + local reduce.
#include "collectives/algorithms/algorithms.hpp"

namespace attune::collectives::algorithms {

Program all_reduce_one_shot(const Part& part) {
    Builder builder(part.rank);
    const Slice output = part.whole(BufferId::output);
    Slice own = part.whole(BufferId::input);
    if (part.ranks() == 1) {
        copy_own(builder, part, own, output);
        builder.end_round();
        return builder.finish();
    }
    // In place the result would overwrite what peers still read while each rank waits for its own readers: a circle. A copy breaks it.
    if (part.problem.in_place) {
        const Slice kept = builder.scratch(part.length);
        builder.copy(own, kept);
        own = kept;
    }
    builder.end_round();
    builder.multicast(others(part), own);
    rank_order_fold(builder, part, own, output);
    builder.end_round();
    return builder.finish();
}

}  // namespace attune::collectives::algorithms
