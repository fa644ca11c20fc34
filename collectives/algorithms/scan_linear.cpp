// Chain: each rank folds what comes from the one before with its own vector and passes the result on. (p-1)(alpha + n beta + n gamma); to be cut in segments.
#include "collectives/algorithms/algorithms.hpp"

namespace attune::collectives::algorithms {

Program scan_linear(const Part& part) {
    Builder builder(part.rank);
    const Slice input = part.whole(BufferId::input);
    const Slice output = part.whole(BufferId::output);
    for (Rank k = 0; k + 1 < part.ranks(); ++k) {
        if (part.rank == k) builder.send(k + 1, k == 0 ? input : output);
        if (part.rank == k + 1) builder.recv_reduce(k, input, output);
        builder.end_round();
    }
    if (part.rank == 0) copy_own(builder, part, input, output);
    builder.end_round();
    return builder.finish();
}

}  // namespace attune::collectives::algorithms
