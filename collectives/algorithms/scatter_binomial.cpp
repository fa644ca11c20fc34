// Binomial tree, far ranks first: each rank gets the blocks of its subtree in scratch and passes all but its own on.
// ceil(log2 p) alpha + (p-1)/p n beta, n = bytes of the input (Thakur, Rabenseifner and Gropp 2005, section 4.2).
#include "collectives/algorithms/algorithms.hpp"

namespace attune::collectives::algorithms {

Program scatter_binomial(const Part& part) {
    Builder builder(part.rank);
    const int place = part.neighbor(-part.problem.root);  // distance from the root around the ring
    const int held = subtree(place, part.ranks());
    const Slice output = part.whole(BufferId::output);
    // Places from the own one on, side by side.
    const Slice scratch = builder.scratch(place != 0 && held > 1 ? static_cast<std::uint64_t>(held) * part.length : 0);
    const auto blocks = [&](int first, int many) {
        return scratch.part(static_cast<std::uint64_t>(first) * part.length, static_cast<std::uint64_t>(many) * part.length);
    };
    for (int distance = 1 << ceil_log2(part.ranks()) >> 1; distance > 0; distance /= 2) {
        const bool receives = place % (2 * distance) == distance;
        const bool sends = place % (2 * distance) == 0 && place + distance < part.ranks();
        const int many = subtree(place + distance, part.ranks());
        if (receives && place == distance) {
            for (const Run& run : root_runs(part, place, held))
                builder.recv(part.problem.root, held > 1 ? blocks(run.first_place - place, run.many) : output);
        } else if (receives) {
            builder.recv(part.neighbor(-distance), held > 1 ? blocks(0, held) : output);
        } else if (sends && place == 0) {
            for (const Run& run : root_runs(part, distance, many))
                builder.send(part.neighbor(distance), run.at_root(part, BufferId::input));
        } else if (sends) {
            builder.send(part.neighbor(distance), blocks(distance, many));
        }
        builder.end_round();
    }
    if (place == 0) copy_own(builder, part, part.block(BufferId::input, part.rank), output);
    if (place != 0 && held > 1) builder.copy(blocks(0, 1), output);
    builder.end_round();
    return builder.finish();
}

}  // namespace attune::collectives::algorithms
