// Who sends how much to whom, for the collectives whose problems say so: amounts of the _v forms, partners of send_recv, transfers of a batch.
#pragma once

#include "collectives/problem.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace attune::tuner {

enum class AmountPattern : std::uint8_t {
    balanced,  // equal blocks, what is left over one each to the first
    uneven,    // block q has about q shares: rank 0 gets nothing, the last rank most
    one_hot,   // the last rank has everything
    zero,      // nobody has anything
};

// `total` elements in blocks by rank; they add up exactly, or to nothing.
std::vector<std::uint64_t> blocks_of(AmountPattern pattern, int ranks, std::uint64_t total);

// The shape of a _v collective with the amounts of all ranks (see collectives::view_of). `total` is the sum of all blocks; of all_to_all_v what a rank
// sends when all send equally: uneven, the last rank sends nothing; one_hot, everything goes to the last rank.
collectives::Problem with_amounts(collectives::Problem shape, AmountPattern pattern, std::uint64_t total);

enum class PairPattern : std::uint8_t {
    ring,       // everybody to the next rank
    one_way,    // rank 0 to rank ranks / 2
    both_ways,  // ranks 0 and ranks / 2 to each other
    halves,     // rank r of the first half to r + ranks / 2; the odd one out does nothing
};
collectives::Problem with_partners(collectives::Problem shape, PairPattern pattern, std::uint64_t count);
// Messages on their way at once.
int messages_of(PairPattern pattern, int ranks) noexcept;

// A batch in which everybody exchanges `count` elements with both ring neighbours.
collectives::Problem with_neighbours(collectives::Problem shape, std::uint64_t count);

}  // namespace attune::tuner
