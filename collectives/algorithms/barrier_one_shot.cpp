// Everyone tells everyone: alpha + (p-1)o.
#include "collectives/algorithms/algorithms.hpp"

namespace attune::collectives::algorithms {

Program barrier_one_shot(const Part& part) {
    Builder builder(part.rank, Builder::Empty::keep);
    const Slice nothing = part.whole(BufferId::output);
    builder.multicast(others(part), nothing);
    // All ranks in one order: when each began with its neighbor, the multicasts would wait for each other in a circle once longer than the window.
    for (Rank q = 0; q < part.ranks(); ++q) {
        if (q != part.rank) builder.recv(q, nothing);
    }
    builder.end_round();
    return builder.finish();
}

}  // namespace attune::collectives::algorithms
