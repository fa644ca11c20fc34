// Everyone sends its block to the root; each rank knows its own count, the root all: alpha + (p-1)o + n beta at the root.
#include "collectives/algorithms/algorithms.hpp"

namespace attune::collectives::algorithms {

Program gather_v_linear(const Part& part) {
    Builder builder(part.rank);
    const Slice own = own_contribution(part);
    if (part.rank != part.problem.root) {
        builder.send(part.problem.root, own);
    } else {
        const std::vector<Slice> blocks = received_blocks(part);
        copy_own(builder, part, own, blocks[static_cast<std::size_t>(part.rank)]);
        for (Rank q = 0; q < part.ranks(); ++q) {
            if (q != part.rank) builder.recv(q, blocks[static_cast<std::size_t>(q)]);
        }
    }
    builder.end_round();
    return builder.finish();
}

}  // namespace attune::collectives::algorithms
