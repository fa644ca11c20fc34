// Every rank gives a block to every other: what the direct all_to_all algorithms share.
#pragma once

#include "collectives/algorithms/part.hpp"

namespace attune::collectives::algorithms {

// Peers that a windowed exchange serves at a time: enough to keep a link or all cores busy, few enough not to flood a receiver.
inline constexpr int exchange_window = 8;

// Element q of each is for, or of, rank q; the own ones are copied. In round k the peers k*window+1 .. (k+1)*window steps away are served, sends to those
// after and receives from those before; a window of 1 is the pairwise exchange.
struct Exchange {
    std::vector<Slice> sent, received;
    int window = exchange_window;
};
void run_exchange(Builder& builder, const Part& part, const Exchange& exchange);

// The blocks of an all_to_all. In place the results would overwrite what peers still read while each rank waits for its own readers, a circle; the
// sent ones are then a copy in scratch, made in a round of its own.
Exchange blocks_to_exchange(Builder& builder, const Part& part);

}  // namespace attune::collectives::algorithms
