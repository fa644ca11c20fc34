// Recursive doubling: in round s each rank folds in what the rank 2^s before has summed. ceil(log2 p)(alpha + n beta + n gamma) (Hillis and Steele 1986).
#include "collectives/algorithms/algorithms.hpp"
#include "collectives/algorithms/prefix.hpp"

namespace attune::collectives::algorithms {

Program scan_recursive_doubling(const Part& part) {
    Builder builder(part.rank);
    const Slice input = part.whole(BufferId::input);
    const Slice output = part.whole(BufferId::output);
    const int folds = prefix_folds(part.rank);
    const bool sends = part.rank + 1 < part.ranks();
    // In place the first fold would write what this rank sends when it lands in output.
    const bool keeps = part.problem.in_place && folds % 2 == 1 && sends;
    const Slice spare = builder.scratch(folds > 1 || keeps ? part.length : 0);
    if (folds == 0) copy_own(builder, part, input, output);
    if (keeps) builder.copy(input, spare);
    builder.end_round();
    Prefix prefix{output, spare, keeps ? spare : input, folds};
    prefix_doubling(builder, part, 0, prefix);
    return builder.finish();
}

}  // namespace attune::collectives::algorithms
