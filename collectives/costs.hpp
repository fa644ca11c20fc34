// What algorithms cost: messages on the critical path, bytes sent and reduced by the busiest rank, of one segment and one channel. The algorithms of the
// catalogue point here; the tests count the steps against these formulas.
#pragma once

#include "collectives/problem.hpp"

namespace attune::collectives {

struct Cost {
    double rounds = 0;      // messages on the critical path
    double bytes_sent = 0;  // by the busiest rank
    double bytes_reduced = 0;
};

namespace costs {

Cost mesh(const Problem& problem);
Cost ring(const Problem& problem);
Cost one_shot_all_reduce(const Problem& problem);
Cost two_shot(const Problem& problem);
Cost ring_all_reduce(const Problem& problem);
Cost doubling_all_reduce(const Problem& problem);
Cost doubling_all_gather(const Problem& problem);
Cost bruck_all_gather(const Problem& problem);
Cost halving(const Problem& problem);
Cost linear_broadcast(const Problem& problem);
Cost binomial_broadcast(const Problem& problem);
Cost chain(const Problem& problem);
Cost scatter_then_gather(const Problem& problem);
Cost dissemination(const Problem& problem);
Cost halving_doubling(const Problem& problem);
Cost two_level(const Problem& problem);
Cost linear_reduce(const Problem& problem);
Cost binomial_reduce(const Problem& problem);
Cost linear_gather(const Problem& problem);
Cost binomial_gather(const Problem& problem);
Cost binomial_scatter(const Problem& problem);
Cost windowed(const Problem& problem);
Cost bruck_all_to_all(const Problem& problem);
Cost linear_scan(const Problem& problem);
Cost doubling_scan(const Problem& problem);
Cost linear_exscan(const Problem& problem);
Cost doubling_exscan(const Problem& problem);
Cost ring_v(const Problem& problem);
Cost linear_all_gather_v(const Problem& problem);
Cost linear_gather_v(const Problem& problem);
Cost linear_scatter_v(const Problem& problem);
Cost windowed_v(const Problem& problem);
Cost pairwise_v(const Problem& problem);
Cost one_message(const Problem& problem);
Cost batch(const Problem& problem);

}  // namespace costs
}  // namespace attune::collectives
