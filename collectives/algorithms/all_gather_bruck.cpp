// Bruck: scratch holds the blocks from the own one on; in round s the first 2^s go to the rank 2^s before, the last round carries the rest, then blocks
// move to their places. ceil(log2 p) alpha + (p-1)/p n beta and n bytes of copies (Bruck et al. 1997; Thakur, Rabenseifner and Gropp 2005, section 4.1).
#include "collectives/algorithms/algorithms.hpp"

#include <algorithm>

namespace attune::collectives::algorithms {

namespace {

// Position i of scratch is the block of rank + i; runs of blocks that also touch in output move in one copy.
void copy_to_places(Builder& builder, const Part& part, const Slice& scratch) {
    for (int position = 1; position < part.ranks();) {
        const Rank first = part.neighbor(position);
        const int run = part.blocks_touch() ? std::min(part.ranks() - position, part.ranks() - first) : 1;
        const std::uint64_t elements = static_cast<std::uint64_t>(run) * part.length;
        Slice target = part.block(BufferId::output, first);
        target.length = elements;
        builder.copy(scratch.part(static_cast<std::uint64_t>(position) * part.length, elements), target);
        position += run;
    }
}

}  // namespace

Program all_gather_bruck(const Part& part) {
    Builder builder(part.rank);
    const Slice own = part.whole(BufferId::input);
    const Slice scratch = builder.scratch(part.ranks() > 1 ? static_cast<std::uint64_t>(part.ranks()) * part.length : 0);
    const auto blocks = [&](int first, int many) {
        return scratch.part(static_cast<std::uint64_t>(first) * part.length, static_cast<std::uint64_t>(many) * part.length);
    };
    for (int distance = 1; distance < part.ranks(); distance *= 2) {
        const int many = std::min(distance, part.ranks() - distance);
        builder.send(part.neighbor(-distance), distance == 1 ? own : blocks(0, many));
        if (distance == 1 && part.ranks() > 2) builder.copy(own, blocks(0, 1));
        builder.recv(part.neighbor(distance), blocks(distance, many));
        builder.end_round();
    }
    copy_own(builder, part, own, part.block(BufferId::output, part.rank));
    copy_to_places(builder, part, scratch);
    builder.end_round();
    return builder.finish();
}

}  // namespace attune::collectives::algorithms
