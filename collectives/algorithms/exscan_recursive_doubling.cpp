// Recursive doubling over the vectors moved one rank up: rank r > 0 first gets the vector of rank r-1, then ranks 1 to p-1 do an inclusive scan.
// alpha + n beta + ceil(log2 (p-1))(alpha + n beta + n gamma) (Hillis and Steele 1986).
#include "collectives/algorithms/algorithms.hpp"
#include "collectives/algorithms/prefix.hpp"

namespace attune::collectives::algorithms {

Program exscan_recursive_doubling(const Part& part) {
    Builder builder(part.rank);
    const Slice input = part.whole(BufferId::input);
    const Slice output = part.whole(BufferId::output);
    const int folds = part.rank == 0 ? 0 : prefix_folds(part.rank - 1);
    // The vector from below lands where the folds in turn end in output; in place output still holds what this rank sends, so another place is needed.
    const bool lands_in_output = folds == 0 || (folds % 2 == 0 && !part.problem.in_place);
    const Slice spare = builder.scratch(folds > 0 ? part.length : 0);
    const Slice other = builder.scratch(folds > 0 && folds % 2 == 0 && part.problem.in_place ? part.length : 0);
    const Slice first = lands_in_output ? output : folds % 2 == 0 ? other : spare;
    if (part.rank + 1 < part.ranks()) builder.send(part.rank + 1, input);
    if (part.rank > 0) builder.recv(part.rank - 1, first);
    builder.end_round();
    Prefix prefix{output, spare, first, folds};
    prefix_doubling(builder, part, 1, prefix);
    return builder.finish();
}

}  // namespace attune::collectives::algorithms
