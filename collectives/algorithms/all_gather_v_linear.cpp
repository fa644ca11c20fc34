// Everyone sends its block to everyone: alpha + (p-1)o + n beta for the n bytes of the others, whatever their shares.
#include "collectives/algorithms/algorithms.hpp"

namespace attune::collectives::algorithms {

Program all_gather_v_linear(const Part& part) {
    Builder builder(part.rank);
    const std::vector<Slice> blocks = received_blocks(part);
    const Slice target = blocks[static_cast<std::size_t>(part.rank)];
    const Slice own = own_contribution(part);
    builder.multicast(others(part), own);
    copy_own(builder, part, own, target);
    // All ranks in one order: when each began with its neighbor, the multicasts would wait for each other in a circle once longer than the window.
    for (Rank q = 0; q < part.ranks(); ++q) {
        if (q != part.rank) builder.recv(q, blocks[static_cast<std::size_t>(q)]);
    }
    builder.end_round();
    return builder.finish();
}

}  // namespace attune::collectives::algorithms
