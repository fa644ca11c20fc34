// Everyone tells everyone: alpha + (p-1)o.
#include "collectives/algorithms/algorithms.hpp"

namespace attune::collectives::algorithms {

Program barrier_one_shot(const Part& part) {
    Builder builder(part.rank, Builder::Empty::keep);
    const Slice nothing = part.whole(BufferId::output);
    builder.multicast(others(part), nothing);
    for (int i = 1; i < part.ranks(); ++i)
        builder.recv(part.neighbor(-i), nothing);
    builder.end_round();
    return builder.finish();
}

}  // namespace attune::collectives::algorithms
