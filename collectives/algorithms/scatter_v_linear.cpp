// The root sends each rank its block; each rank knows its own count, the root all: alpha + (p-1)o + n beta at the root.
#include "collectives/algorithms/algorithms.hpp"

namespace attune::collectives::algorithms {

Program scatter_v_linear(const Part& part) {
    Builder builder(part.rank);
    const Slice output = own_result(part);
    if (part.rank == part.problem.root) {
        const std::vector<Slice> blocks = sent_blocks(part);
        for (const Rank q : others(part))
            builder.send(q, blocks[static_cast<std::size_t>(q)]);
        copy_own(builder, part, blocks[static_cast<std::size_t>(part.rank)], output);
    } else {
        builder.recv(part.problem.root, output);
    }
    builder.end_round();
    return builder.finish();
}

}  // namespace attune::collectives::algorithms
