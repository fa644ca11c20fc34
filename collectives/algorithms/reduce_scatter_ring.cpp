// Ring: the partial sum of block r starts at rank r+1 and ends at its owner. (p-1) alpha + (p-1)/p n (beta + gamma), n = bytes of the input
// (Patarasuk and Yuan 2009, section 4).
#include "collectives/algorithms/algorithms.hpp"

namespace attune::collectives::algorithms {

Program reduce_scatter_ring(const Part& part) {
    Builder builder(part.rank);
    const int rounds = part.ranks() - 1;
    if (rounds == 0) {
        copy_own(builder, part, part.block(BufferId::input, 0), part.whole(BufferId::output));
        builder.end_round();
        return builder.finish();
    }
    // Two places in turn: the fold of a round never writes what the round sends.
    const Slice scratch = builder.scratch(rounds > 1 ? 2 * part.length : 0);
    const auto partial = [&](int k) { return scratch.part(static_cast<std::uint64_t>(k % 2) * part.length, part.length); };
    for (int k = 0; k < rounds; ++k) {
        builder.send(part.neighbor(1), k == 0 ? part.block(BufferId::input, part.neighbor(-1)) : partial(k - 1));
        const bool last = k == rounds - 1;
        builder.recv_reduce(part.neighbor(-1), part.block(BufferId::input, part.neighbor(-k - 2)), last ? part.whole(BufferId::output) : partial(k),
                            last ? final_finish(part) : Finish::store);
        builder.end_round();
    }
    return builder.finish();
}

}  // namespace attune::collectives::algorithms
