// Ring: in round k every rank passes on the block it got in round k-1. (p-1)(alpha + the longest block of the round).
#include "collectives/algorithms/algorithms.hpp"

namespace attune::collectives::algorithms {

Program all_gather_v_ring(const Part& part) {
    Builder builder(part.rank);
    const std::vector<Slice> blocks = received_blocks(part);
    const auto block = [&](int i) { return blocks[static_cast<std::size_t>(part.neighbor(i))]; };
    const Slice own = own_contribution(part);
    for (int k = 0; k + 1 < part.ranks(); ++k) {
        builder.send(part.neighbor(1), k == 0 ? own : block(-k));
        if (k == 0) copy_own(builder, part, own, block(0));
        builder.recv(part.neighbor(-1), block(-k - 1));
        builder.end_round();
    }
    if (part.ranks() == 1) {
        copy_own(builder, part, own, block(0));
        builder.end_round();
    }
    return builder.finish();
}

}  // namespace attune::collectives::algorithms
