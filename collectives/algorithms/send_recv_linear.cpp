// One message out, one in, each optional: alpha + n beta.
#include "collectives/algorithms/algorithms.hpp"
#include "collectives/amounts.hpp"

namespace attune::collectives::algorithms {

Program send_recv_linear(const Part& part) {
    Builder builder(part.rank);
    const Problem own = view_of(part.problem, part.rank);
    const Rank destination = own.amounts->destination;
    const Rank source = own.amounts->source;
    const Slice input = part.whole(BufferId::input);
    const Slice output = part.whole(BufferId::output);
    if (destination == part.rank) copy_own(builder, part, input, output);
    if (destination >= 0 && destination != part.rank) builder.send(destination, input);
    if (source >= 0 && source != part.rank) builder.recv(source, output);
    builder.end_round();
    return builder.finish();
}

}  // namespace attune::collectives::algorithms
