// Ring: in round k every rank passes on the block it got in round k-1. (p-1) alpha + (p-1)/p n beta, n = bytes of the output
// (Thakur, Rabenseifner and Gropp 2005, section 4.1).
#include "collectives/algorithms/algorithms.hpp"

namespace attune::collectives::algorithms {

Program all_gather_ring(const Part& part) {
    Builder builder(part.rank);
    const Slice own = part.whole(BufferId::input);
    for (int k = 0; k + 1 < part.ranks(); ++k) {
        builder.send(part.neighbor(1), k == 0 ? own : part.block(BufferId::output, part.neighbor(-k)));
        if (k == 0) copy_own(builder, part, own, part.block(BufferId::output, part.rank));
        builder.recv(part.neighbor(-1), part.block(BufferId::output, part.neighbor(-k - 1)));
        builder.end_round();
    }
    if (part.ranks() == 1) {
        copy_own(builder, part, own, part.block(BufferId::output, 0));
        builder.end_round();
    }
    return builder.finish();
}

}  // namespace attune::collectives::algorithms
