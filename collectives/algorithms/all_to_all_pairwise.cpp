// Pairwise exchange: in round k each rank sends to the rank k after and receives of the rank k before. (p-1) alpha + (p-1)/p n beta, n = bytes of a buffer
// (Thakur, Rabenseifner and Gropp 2005, section 4.6).
#include "collectives/algorithms/algorithms.hpp"
#include "collectives/algorithms/exchange.hpp"

namespace attune::collectives::algorithms {

Program all_to_all_pairwise(const Part& part) {
    Builder builder(part.rank);
    Exchange exchange = blocks_to_exchange(builder, part);
    exchange.window = 1;
    run_exchange(builder, part, exchange);
    return builder.finish();
}

}  // namespace attune::collectives::algorithms
