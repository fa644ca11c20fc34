// Pairwise exchange: in round k each rank sends to the rank k after and receives of the rank k before; pairs without elements exchange nothing.
// (p-1) alpha + sum over k of the longest block of the round, beta a byte.
#include "collectives/algorithms/algorithms.hpp"
#include "collectives/algorithms/exchange.hpp"

namespace attune::collectives::algorithms {

Program all_to_all_v_pairwise(const Part& part) {
    Builder builder(part.rank);
    run_exchange(builder, part, {sent_blocks(part), received_blocks(part), 1});
    return builder.finish();
}

}  // namespace attune::collectives::algorithms
