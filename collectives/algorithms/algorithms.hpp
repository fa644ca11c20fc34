// The generators, one per file <collective>_<algorithm>.cpp. Each is pure: one rank's program of one part of a problem. Any number of ranks,
// also 1, and any length, also 0, in and out of place.
#pragma once

#include "collectives/algorithms/part.hpp"
#include "collectives/builder.hpp"

namespace attune::collectives::algorithms {

Program all_reduce_one_shot(const Part& part);
Program all_reduce_two_shot(const Part& part);
Program all_reduce_ring(const Part& part);
Program all_reduce_recursive_doubling(const Part& part);
Program all_reduce_recursive_halving_doubling(const Part& part);
Program all_reduce_two_level(const Part& part);

Program all_gather_one_shot(const Part& part);
Program all_gather_ring(const Part& part);
Program all_gather_bruck(const Part& part);
Program all_gather_recursive_doubling(const Part& part);

Program reduce_scatter_one_shot(const Part& part);
Program reduce_scatter_ring(const Part& part);
Program reduce_scatter_recursive_halving(const Part& part);

Program broadcast_linear(const Part& part);
Program broadcast_binomial(const Part& part);
Program broadcast_chain(const Part& part);
Program broadcast_scatter_all_gather(const Part& part);

Program reduce_linear(const Part& part);
Program reduce_binomial(const Part& part);

Program gather_linear(const Part& part);
Program gather_binomial(const Part& part);

Program scatter_linear(const Part& part);
Program scatter_binomial(const Part& part);

Program all_to_all_windowed(const Part& part);
Program all_to_all_pairwise(const Part& part);
Program all_to_all_bruck(const Part& part);

Program barrier_dissemination(const Part& part);
Program barrier_one_shot(const Part& part);

Program scan_linear(const Part& part);
Program scan_recursive_doubling(const Part& part);

Program exscan_linear(const Part& part);
Program exscan_recursive_doubling(const Part& part);

Program all_gather_v_linear(const Part& part);
Program all_gather_v_ring(const Part& part);

Program reduce_scatter_v_ring(const Part& part);

Program gather_v_linear(const Part& part);

Program scatter_v_linear(const Part& part);

Program all_to_all_v_windowed(const Part& part);
Program all_to_all_v_pairwise(const Part& part);

Program send_recv_linear(const Part& part);

Program batch_send_recv_linear(const Part& part);

}  // namespace attune::collectives::algorithms
