// Everyone sends its block to everyone: alpha + (p-1)o + (p-1)/p n beta, n = bytes of the output. The mesh all_gather of HCCL.
#include "collectives/algorithms/algorithms.hpp"

namespace attune::collectives::algorithms {

Program all_gather_one_shot(const Part& part) {
    Builder builder(part.rank);
    const Slice own = part.whole(BufferId::input);
    builder.multicast(others(part), own);
    copy_own(builder, part, own, part.block(BufferId::output, part.rank));
    for (int i = 1; i < part.ranks(); ++i) {
        const Rank q = part.neighbor(-i);
        builder.recv(q, part.block(BufferId::output, q));
    }
    builder.end_round();
    return builder.finish();
}

}  // namespace attune::collectives::algorithms
