// Binomial tree, far ranks first: ceil(log2 p)(alpha + n beta) (Thakur, Rabenseifner and Gropp 2005, section 4.2).
#include "collectives/algorithms/algorithms.hpp"

namespace attune::collectives::algorithms {

Program broadcast_binomial(const Part& part) {
    Builder builder(part.rank);
    const int place = part.neighbor(-part.problem.root);  // distance from the root around the ring
    const Slice output = part.whole(BufferId::output);
    const Slice held = place == 0 ? part.whole(BufferId::input) : output;
    for (int distance = 1 << ceil_log2(part.ranks()) >> 1; distance > 0; distance /= 2) {
        const bool holds = place % (2 * distance) == 0;
        if (holds && place + distance < part.ranks()) builder.send(part.neighbor(distance), held);
        if (place % (2 * distance) == distance) builder.recv(part.neighbor(-distance), output);
        builder.end_round();
    }
    if (place == 0) copy_own(builder, part, held, output);
    builder.end_round();
    return builder.finish();
}

}  // namespace attune::collectives::algorithms
