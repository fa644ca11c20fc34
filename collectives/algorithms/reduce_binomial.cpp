// Binomial tree, near ranks first: each rank folds its subtree's sums into its own and passes the result on.
// ceil(log2 p)(alpha + n beta + n gamma) (Thakur, Rabenseifner and Gropp 2005, section 4.4).
#include "collectives/algorithms/algorithms.hpp"

namespace attune::collectives::algorithms {

Program reduce_binomial(const Part& part) {
    Builder builder(part.rank);
    const int place = part.neighbor(-part.problem.root);  // distance from the root around the ring
    const bool is_root = place == 0;
    const bool folds = subtree(place, part.ranks()) > 1;
    const Slice target = is_root ? part.whole(BufferId::output) : builder.scratch(folds ? part.length : 0);
    Slice sum = part.whole(BufferId::input);
    if (part.ranks() == 1) copy_own(builder, part, sum, target);
    for (int distance = 1; distance < part.ranks(); distance *= 2) {
        if (place % (2 * distance) == distance) builder.send(part.neighbor(-distance), sum);
        if (place % (2 * distance) == 0 && place + distance < part.ranks()) {
            const bool last = is_root && 2 * distance >= part.ranks();
            builder.recv_reduce(part.neighbor(distance), sum, target, last ? final_finish(part) : Finish::store);
            sum = target;
        }
        builder.end_round();
    }
    builder.end_round();
    return builder.finish();
}

}  // namespace attune::collectives::algorithms
