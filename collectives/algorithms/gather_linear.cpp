// Everyone sends its block to the root: alpha + (p-1)(o + n/p beta) at the root, n = bytes of the output.
#include "collectives/algorithms/algorithms.hpp"

namespace attune::collectives::algorithms {

Program gather_linear(const Part& part) {
    Builder builder(part.rank);
    const Slice own = part.whole(BufferId::input);
    if (part.rank != part.problem.root) {
        builder.send(part.problem.root, own);
    } else {
        copy_own(builder, part, own, part.block(BufferId::output, part.rank));
        for (Rank q = 0; q < part.ranks(); ++q) {
            if (q != part.rank) builder.recv(q, part.block(BufferId::output, q));
        }
    }
    builder.end_round();
    return builder.finish();
}

}  // namespace attune::collectives::algorithms
