// All sends in program order, then all receives by ascending sender. Messages between two ranks keep their order, and receives write disjoint slices, so the
// order among senders is free; the ascending one is the same on all ranks, so that no circle of waits can form whatever order the callers wrote: every
// message of rank 0 is read first, then every one of rank 1, and so on.
#include "collectives/algorithms/algorithms.hpp"
#include "collectives/amounts.hpp"

#include <algorithm>
#include <utility>

namespace attune::collectives::algorithms {

namespace {

Slice slice_of(const Part& part, const Transfer& transfer) {
    return cut(part, {transfer.is_send ? BufferId::input : BufferId::output, transfer.offset, transfer.count});
}

// The k-th message of this rank to itself meets its k-th receive.
void copy_to_self(Builder& builder, const Part& part, const std::vector<Transfer>& transfers) {
    std::vector<Slice> sent, received;
    for (const Transfer& transfer : transfers)
        if (transfer.peer == part.rank) (transfer.is_send ? sent : received).push_back(slice_of(part, transfer));
    for (std::size_t i = 0; i < std::min(sent.size(), received.size()); ++i)
        copy_own(builder, part, sent[i], received[i]);
}

}  // namespace

Program batch_send_recv_linear(const Part& part) {
    Builder builder(part.rank);
    const Problem own = view_of(part.problem, part.rank);
    std::vector<Transfer> transfers = own.amounts->transfers;
    for (const Transfer& transfer : transfers)
        if (transfer.is_send && transfer.peer != part.rank) builder.send(transfer.peer, slice_of(part, transfer));
    copy_to_self(builder, part, transfers);
    std::ranges::stable_sort(transfers, {}, &Transfer::peer);
    for (const Transfer& transfer : transfers)
        if (!transfer.is_send && transfer.peer != part.rank) builder.recv(transfer.peer, slice_of(part, transfer));
    builder.end_round();
    return builder.finish();
}

}  // namespace attune::collectives::algorithms
