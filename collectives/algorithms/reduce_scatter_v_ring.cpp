// Ring: the partial sum of block r starts at rank r+1 and ends at its owner. (p-1)(alpha + the longest block of the round).
#include "collectives/algorithms/algorithms.hpp"

#include <algorithm>

namespace attune::collectives::algorithms {

Program reduce_scatter_v_ring(const Part& part) {
    Builder builder(part.rank);
    const std::vector<Slice> blocks = sent_blocks(part);
    const auto block = [&](int i) { return blocks[static_cast<std::size_t>(part.neighbor(i))]; };
    const Slice output = own_result(part);
    const int rounds = part.ranks() - 1;
    if (rounds == 0) copy_own(builder, part, block(0), output);
    if (rounds == 0) builder.end_round();
    // Two places in turn: the fold of a round never writes what the round sends.
    const std::uint64_t longest = std::ranges::max_element(blocks, {}, &Slice::length)->length;
    const Slice scratch = builder.scratch(rounds > 1 ? 2 * longest : 0);
    const auto partial = [&](int k) { return scratch.part(static_cast<std::uint64_t>(k % 2) * longest, block(-k - 2).length); };
    for (int k = 0; k < rounds; ++k) {
        const bool last = k == rounds - 1;
        builder.send(part.neighbor(1), k == 0 ? block(-1) : partial(k - 1));
        builder.recv_reduce(part.neighbor(-1), block(-k - 2), last ? output : partial(k), last ? final_finish(part) : Finish::store);
        builder.end_round();
    }
    return builder.finish();
}

}  // namespace attune::collectives::algorithms
