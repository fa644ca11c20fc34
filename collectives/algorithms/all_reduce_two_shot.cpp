// Direct reduce_scatter, then direct all_gather: rank r folds slice r in rank order and sends the result to everyone.
// 2 alpha + 2(p-1)/p n beta + (p-1)/p n gamma. The two-shot mesh of HCCL, the shared-memory RS+AG of oneCCL and DeepSpeed.
#include "collectives/algorithms/algorithms.hpp"

#include "collectives/composition.hpp"

namespace attune::collectives::algorithms {

namespace {

Program scatter_and_reduce(const Part& part) {
    Builder builder(part.rank);
    const Slice input = part.whole(BufferId::input);
    for (const Rank q : others(part))
        builder.send(q, balanced(input, part.ranks(), q));
    const Slice mine = balanced(input, part.ranks(), part.rank);
    const Slice result = balanced(part.whole(BufferId::output), part.ranks(), part.rank);
    if (part.ranks() == 1) {
        copy_own(builder, part, mine, result);
    } else {
        rank_order_fold(builder, part, mine, result);
    }
    builder.end_round();
    return builder.finish();
}

Program gather_results(const Part& part) {
    Builder builder(part.rank);
    const Slice output = part.whole(BufferId::output);
    builder.multicast(others(part), balanced(output, part.ranks(), part.rank));
    // All ranks in one order: when each began with its neighbor, the multicasts would wait for each other in a circle once longer than the window.
    for (Rank q = 0; q < part.ranks(); ++q) {
        if (q != part.rank) builder.recv(q, balanced(output, part.ranks(), q));
    }
    builder.end_round();
    return builder.finish();
}

}  // namespace

Program all_reduce_two_shot(const Part& part) {
    return then(scatter_and_reduce(part), gather_results(part));
}

}  // namespace attune::collectives::algorithms
