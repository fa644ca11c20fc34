// Dissemination: in round s each rank tells the rank 2^s after it. ceil(log2 p) alpha (Hensgen, Finkel and Manber 1988).
#include "collectives/algorithms/algorithms.hpp"

namespace attune::collectives::algorithms {

Program barrier_dissemination(const Part& part) {
    Builder builder(part.rank, Builder::Empty::keep);
    const Slice nothing = part.whole(BufferId::output);
    for (int distance = 1; distance < part.ranks(); distance *= 2) {
        builder.send(part.neighbor(distance), nothing);
        builder.recv(part.neighbor(-distance), nothing);
        builder.end_round();
    }
    return builder.finish();
}

}  // namespace attune::collectives::algorithms
