// The root sends the whole vector to everyone: alpha + (p-1)(o + n beta) at the root, one staging copy on shared memory. The star of HCCL.
#include "collectives/algorithms/algorithms.hpp"

namespace attune::collectives::algorithms {

Program broadcast_linear(const Part& part) {
    Builder builder(part.rank);
    const Rank root = part.problem.root;
    const Slice output = part.whole(BufferId::output);
    if (part.rank == root) {
        builder.multicast(others(part), part.whole(BufferId::input));
        copy_own(builder, part, part.whole(BufferId::input), output);
    } else {
        builder.recv(root, output);
    }
    builder.end_round();
    return builder.finish();
}

}  // namespace attune::collectives::algorithms
