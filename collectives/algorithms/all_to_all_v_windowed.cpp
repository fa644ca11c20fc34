// Direct exchange, a window of peers at a time, with the own row and column of counts or the matrix of all. ceil((p-1)/w) alpha + n beta, n = the larger of
// what a rank sends and receives.
#include "collectives/algorithms/algorithms.hpp"
#include "collectives/algorithms/exchange.hpp"

namespace attune::collectives::algorithms {

Program all_to_all_v_windowed(const Part& part) {
    Builder builder(part.rank);
    run_exchange(builder, part, {sent_blocks(part), received_blocks(part), exchange_window});
    return builder.finish();
}

}  // namespace attune::collectives::algorithms
