// Binomial tree, near ranks first: each rank collects the blocks of its subtree in scratch and passes them on. The root writes them where they belong.
// ceil(log2 p) alpha + (p-1)/p n beta, n = bytes of the output (Thakur, Rabenseifner and Gropp 2005, section 4.2: the scatter backwards).
#include "collectives/algorithms/algorithms.hpp"

namespace attune::collectives::algorithms {

Program gather_binomial(const Part& part) {
    Builder builder(part.rank);
    const int place = part.neighbor(-part.problem.root);  // distance from the root around the ring
    const int held = subtree(place, part.ranks());
    const Slice own = part.whole(BufferId::input);
    // Places from the own one on, side by side.
    const Slice scratch = builder.scratch(place != 0 && held > 1 ? static_cast<std::uint64_t>(held) * part.length : 0);
    const auto blocks = [&](int first, int many) {
        return scratch.part(static_cast<std::uint64_t>(first) * part.length, static_cast<std::uint64_t>(many) * part.length);
    };
    if (place == 0) copy_own(builder, part, own, part.block(BufferId::output, part.rank));
    if (place != 0 && held > 1) builder.copy(own, blocks(0, 1));
    builder.end_round();
    for (int distance = 1; distance < part.ranks(); distance *= 2) {
        const bool sends = place % (2 * distance) == distance;
        const bool receives = place % (2 * distance) == 0 && place + distance < part.ranks();
        const int many = subtree(place + distance, part.ranks());
        if (sends && place == distance) {
            for (const Run& run : root_runs(part, place, held))
                builder.send(part.problem.root, held > 1 ? blocks(run.first_place - place, run.many) : own);
        } else if (sends) {
            builder.send(part.neighbor(-distance), held > 1 ? blocks(0, held) : own);
        } else if (receives && place == 0) {
            for (const Run& run : root_runs(part, distance, many))
                builder.recv(part.neighbor(distance), run.at_root(part, BufferId::output));
        } else if (receives) {
            builder.recv(part.neighbor(distance), blocks(distance, many));
        }
        builder.end_round();
    }
    return builder.finish();
}

}  // namespace attune::collectives::algorithms
