// Everyone sends its block to everyone: alpha + (p-1)o + (p-1)/p n beta, n = bytes of the output. The mesh all_gather of HCCL.
#include "collectives/algorithms/algorithms.hpp"

namespace attune::collectives::algorithms {

Program all_gather_one_shot(const Part& part) {
    Builder builder(part.rank);
    const Slice own = part.whole(BufferId::input);
    builder.multicast(others(part), own);
    copy_own(builder, part, own, part.block(BufferId::output, part.rank));
    // All ranks in one order: when each began with its neighbor, the multicasts would wait for each other in a circle once longer than the window.
    for (Rank q = 0; q < part.ranks(); ++q) {
        if (q != part.rank) builder.recv(q, part.block(BufferId::output, q));
    }
    builder.end_round();
    return builder.finish();
}

}  // namespace attune::collectives::algorithms
