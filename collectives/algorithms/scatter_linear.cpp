// The root sends each rank its block: alpha + (p-1)(o + n/p beta) at the root, n = bytes of the input.
#include "collectives/algorithms/algorithms.hpp"

namespace attune::collectives::algorithms {

Program scatter_linear(const Part& part) {
    Builder builder(part.rank);
    const Slice output = part.whole(BufferId::output);
    if (part.rank == part.problem.root) {
        for (const Rank q : others(part))
            builder.send(q, part.block(BufferId::input, q));
        copy_own(builder, part, part.block(BufferId::input, part.rank), output);
    } else {
        builder.recv(part.problem.root, output);
    }
    builder.end_round();
    return builder.finish();
}

}  // namespace attune::collectives::algorithms
