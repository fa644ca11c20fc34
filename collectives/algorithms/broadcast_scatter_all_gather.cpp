// Binomial scatter of p slices, then a ring all_gather that leaves out what the receiver already holds from the scatter.
// (ceil(log2 p) + p-1) alpha + 2(p-1)/p n beta (van de Geijn; Thakur, Rabenseifner and Gropp 2005, section 4.2).
#include "collectives/algorithms/algorithms.hpp"

#include "collectives/composition.hpp"

namespace attune::collectives::algorithms {

namespace {

// After the scatter place i holds slices [i, i + subtree(i)).
Slice slice_run(const Part& part, int place, int first, int many) {
    return balanced_run(part.whole(place == 0 ? BufferId::input : BufferId::output), part.ranks(), first, many);
}

Program scatter(const Part& part, int place) {
    Builder builder(part.rank);
    for (int distance = 1 << ceil_log2(part.ranks()) >> 1; distance > 0; distance /= 2) {
        const int child = place + distance;
        if (place % (2 * distance) == 0 && child < part.ranks())
            builder.send(part.neighbor(distance), slice_run(part, place, child, subtree(child, part.ranks())));
        if (place % (2 * distance) == distance) builder.recv(part.neighbor(-distance), slice_run(part, place, place, subtree(place, part.ranks())));
        builder.end_round();
    }
    return builder.finish();
}

Program gather(const Part& part, int place) {
    Builder builder(part.rank);
    const int ranks = part.ranks();
    const int next = (place + 1) % ranks;
    const auto holds = [&](int who, int slice) { return slice >= who && slice < who + subtree(who, ranks); };
    if (place == 0) copy_own(builder, part, part.whole(BufferId::input), part.whole(BufferId::output));
    for (int k = 0; k + 1 < ranks; ++k) {
        const int sent = (place - k + ranks) % ranks;
        const int received = (place - k - 1 + ranks) % ranks;
        if (!holds(next, sent)) builder.send(part.neighbor(1), slice_run(part, place, sent, 1));
        if (!holds(place, received)) builder.recv(part.neighbor(-1), slice_run(part, place, received, 1));
        builder.end_round();
    }
    if (ranks == 1) builder.end_round();
    return builder.finish();
}

}  // namespace

Program broadcast_scatter_all_gather(const Part& part) {
    const int place = part.neighbor(-part.problem.root);  // distance from the root around the ring
    return then(scatter(part, place), gather(part, place));
}

}  // namespace attune::collectives::algorithms
