#include "collectives/algorithms/prefix.hpp"

namespace attune::collectives::algorithms {

int prefix_folds(int before) noexcept {
    return before == 0 ? 0 : floor_log2(before) + 1;
}

void prefix_doubling(Builder& builder, const Part& part, Rank first, Prefix& prefix) {
    const int before = part.rank - first;
    for (int distance = 1; distance < part.ranks() - first; distance *= 2) {
        if (before >= 0 && part.rank + distance < part.ranks()) builder.send(part.rank + distance, prefix.current);
        if (before >= distance) {
            const Slice target = prefix.next();
            builder.recv_reduce(part.rank - distance, prefix.current, target);
            prefix.current = target;
        }
        builder.end_round();
    }
}

}  // namespace attune::collectives::algorithms
