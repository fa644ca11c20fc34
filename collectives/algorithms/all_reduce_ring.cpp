// Ring: p-1 rounds carry a growing partial sum of each slice to its owner, p-1 more carry the results around.
// 2(p-1) alpha + 2(p-1)/p n beta + (p-1)/p n gamma (Patarasuk and Yuan 2009, section 4).
#include "collectives/algorithms/algorithms.hpp"

#include "collectives/composition.hpp"

namespace attune::collectives::algorithms {

namespace {

Slice ring_slice(const Part& part, BufferId buffer, int i) {
    return balanced(part.whole(buffer), part.ranks(), part.neighbor(i));
}

// Rank r ends with slice r complete in output; the partial sums travel through output, each slice written once.
Program ring_reduce_scatter(const Part& part) {
    Builder builder(part.rank);
    const Rank next = part.neighbor(1);
    const Rank previous = part.neighbor(-1);
    for (int k = 0; k + 1 < part.ranks(); ++k) {
        builder.send(next, ring_slice(part, k == 0 ? BufferId::input : BufferId::output, -k - 1));
        const Finish finish = k + 2 == part.ranks() ? final_finish(part) : Finish::store;
        builder.recv_reduce(previous, ring_slice(part, BufferId::input, -k - 2), ring_slice(part, BufferId::output, -k - 2), finish);
        builder.end_round();
    }
    return builder.finish();
}

Program ring_all_gather(const Part& part) {
    Builder builder(part.rank);
    for (int k = 0; k + 1 < part.ranks(); ++k) {
        builder.send(part.neighbor(1), ring_slice(part, BufferId::output, -k));
        builder.recv(part.neighbor(-1), ring_slice(part, BufferId::output, -k - 1));
        builder.end_round();
    }
    return builder.finish();
}

}  // namespace

Program all_reduce_ring(const Part& part) {
    if (part.ranks() == 1) {
        Builder builder(part.rank);
        copy_own(builder, part, part.whole(BufferId::input), part.whole(BufferId::output));
        builder.end_round();
        return builder.finish();
    }
    return then(ring_reduce_scatter(part), ring_all_gather(part));
}

}  // namespace attune::collectives::algorithms
