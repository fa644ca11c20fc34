// Everyone sends block q to rank q, which folds in rank order: alpha + (p-1)o + (p-1)/p n (beta + gamma), n = bytes of the input. The mesh reduce_scatter
// of HCCL.
#include "collectives/algorithms/algorithms.hpp"

namespace attune::collectives::algorithms {

Program reduce_scatter_one_shot(const Part& part) {
    Builder builder(part.rank);
    for (const Rank q : others(part))
        builder.send(q, part.block(BufferId::input, q));
    const Slice own = part.block(BufferId::input, part.rank);
    const Slice output = part.whole(BufferId::output);
    if (part.ranks() == 1) {
        copy_own(builder, part, own, output);
    } else {
        rank_order_fold(builder, part, own, output);
    }
    builder.end_round();
    return builder.finish();
}

}  // namespace attune::collectives::algorithms
