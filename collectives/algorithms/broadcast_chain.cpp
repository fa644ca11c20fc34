// Chain: each rank passes the vector to the next. With k segments (p-2+k)(alpha + n/k beta), k* = sqrt((p-2) n beta / alpha): the algorithm to cut in
// segments (Pjesivac-Grbovic et al. 2007, pipeline).
#include "collectives/algorithms/algorithms.hpp"

namespace attune::collectives::algorithms {

Program broadcast_chain(const Part& part) {
    Builder builder(part.rank);
    const int place = part.neighbor(-part.problem.root);  // distance from the root around the ring
    const Slice output = part.whole(BufferId::output);
    const Slice held = place == 0 ? part.whole(BufferId::input) : output;
    for (int k = 0; k + 1 < part.ranks(); ++k) {
        if (place == k) builder.send(part.neighbor(1), held);
        if (place == k + 1) builder.recv(part.neighbor(-1), output);
        builder.end_round();
    }
    if (place == 0) copy_own(builder, part, held, output);
    builder.end_round();
    return builder.finish();
}

}  // namespace attune::collectives::algorithms
