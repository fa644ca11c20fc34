// Direct exchange, a window of peers at a time: ceil((p-1)/w) alpha + (p-1)/p n beta, n = bytes of a buffer. The direct full mesh of HCCL.
#include "collectives/algorithms/algorithms.hpp"
#include "collectives/algorithms/exchange.hpp"

namespace attune::collectives::algorithms {

Program all_to_all_windowed(const Part& part) {
    Builder builder(part.rank);
    run_exchange(builder, part, blocks_to_exchange(builder, part));
    return builder.finish();
}

}  // namespace attune::collectives::algorithms
