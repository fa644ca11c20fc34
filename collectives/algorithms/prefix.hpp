// The inclusive scan by recursive doubling that scan and exscan share.
#pragma once

#include "collectives/algorithms/part.hpp"

namespace attune::collectives::algorithms {

// Folds go to output and spare in turn, so that none writes what its rank still sends; the last one lands in output.
struct Prefix {
    Slice output, spare, current;
    int folds_left = 0;

    Slice next() noexcept { return --folds_left % 2 == 0 ? output : spare; }
};

// Folds of the rank that has `before` ranks before it.
int prefix_folds(int before) noexcept;

// Ranks first .. p-1 replace their `current` by the fold over all of them up to themselves. ceil(log2 (p - first)) rounds.
void prefix_doubling(Builder& builder, const Part& part, Rank first, Prefix& prefix);

}  // namespace attune::collectives::algorithms
