// attune.h: the blocking calls by name. Each fills in a call and runs it.
#include "apps/runtime/c_handles.hpp"

namespace {

attune_call call_of(attune_collective collective, uint64_t count, attune_dtype dtype) {
    attune_call call = ATTUNE_CALL;
    call.collective = collective;
    call.count = count;
    call.dtype = dtype;
    return call;
}

attune_call reduction(attune_collective collective, uint64_t count, attune_dtype dtype, attune_op op) {
    attune_call call = call_of(collective, count, dtype);
    call.op = op;
    return call;
}

attune_call rooted(attune_collective collective, uint64_t count, attune_dtype dtype, int root) {
    attune_call call = call_of(collective, count, dtype);
    call.root = root;
    return call;
}

}  // namespace

// NOLINTBEGIN(readability-function-size): a call in C names all it needs, as in MPI; with fewer there is attune_run().
int attune_all_reduce(attune_communicator* team, const void* input, void* output, uint64_t count, attune_dtype dtype, attune_op op) {
    const attune_call call = reduction(ATTUNE_ALL_REDUCE, count, dtype, op);
    return attune_run(team, &call, input, output);
}

int attune_all_gather(attune_communicator* team, const void* input, void* output, uint64_t count, attune_dtype dtype) {
    const attune_call call = call_of(ATTUNE_ALL_GATHER, count, dtype);
    return attune_run(team, &call, input, output);
}

int attune_reduce_scatter(attune_communicator* team, const void* input, void* output, uint64_t count, attune_dtype dtype, attune_op op) {
    const attune_call call = reduction(ATTUNE_REDUCE_SCATTER, count, dtype, op);
    return attune_run(team, &call, input, output);
}

int attune_broadcast(attune_communicator* team, const void* input, void* output, uint64_t count, attune_dtype dtype, int root) {
    const attune_call call = rooted(ATTUNE_BROADCAST, count, dtype, root);
    return attune_run(team, &call, input, output);
}

int attune_reduce(attune_communicator* team, const void* input, void* output, uint64_t count, attune_dtype dtype, attune_op op, int root) {
    attune_call call = reduction(ATTUNE_REDUCE, count, dtype, op);
    call.root = root;
    return attune_run(team, &call, input, output);
}

int attune_gather(attune_communicator* team, const void* input, void* output, uint64_t count, attune_dtype dtype, int root) {
    const attune_call call = rooted(ATTUNE_GATHER, count, dtype, root);
    return attune_run(team, &call, input, output);
}

int attune_scatter(attune_communicator* team, const void* input, void* output, uint64_t count, attune_dtype dtype, int root) {
    const attune_call call = rooted(ATTUNE_SCATTER, count, dtype, root);
    return attune_run(team, &call, input, output);
}

int attune_all_to_all(attune_communicator* team, const void* input, void* output, uint64_t count, attune_dtype dtype) {
    const attune_call call = call_of(ATTUNE_ALL_TO_ALL, count, dtype);
    return attune_run(team, &call, input, output);
}

int attune_barrier(attune_communicator* team) {
    const attune_call call = ATTUNE_CALL;
    return attune_run(team, &call, nullptr, nullptr);
}

int attune_scan(attune_communicator* team, const void* input, void* output, uint64_t count, attune_dtype dtype, attune_op op) {
    const attune_call call = reduction(ATTUNE_SCAN, count, dtype, op);
    return attune_run(team, &call, input, output);
}

int attune_exscan(attune_communicator* team, const void* input, void* output, uint64_t count, attune_dtype dtype, attune_op op) {
    const attune_call call = reduction(ATTUNE_EXSCAN, count, dtype, op);
    return attune_run(team, &call, input, output);
}

int attune_all_gather_v(attune_communicator* team, const void* input, void* output, const uint64_t* counts, attune_dtype dtype) {
    attune_call call = call_of(ATTUNE_ALL_GATHER_V, 0, dtype);
    call.receive = counts;
    return attune_run(team, &call, input, output);
}

int attune_reduce_scatter_v(attune_communicator* team, const void* input, void* output, const uint64_t* counts, attune_dtype dtype, attune_op op) {
    attune_call call = reduction(ATTUNE_REDUCE_SCATTER_V, 0, dtype, op);
    call.send = counts;
    return attune_run(team, &call, input, output);
}

int attune_gather_v(attune_communicator* team, const void* input, uint64_t count, void* output, const uint64_t* counts, attune_dtype dtype, int root) {
    attune_call call = rooted(ATTUNE_GATHER_V, count, dtype, root);
    call.receive = counts;
    return attune_run(team, &call, input, output);
}

int attune_scatter_v(attune_communicator* team, const void* input, const uint64_t* counts, void* output, uint64_t count, attune_dtype dtype, int root) {
    attune_call call = rooted(ATTUNE_SCATTER_V, count, dtype, root);
    call.send = counts;
    return attune_run(team, &call, input, output);
}

int attune_all_to_all_v(attune_communicator* team, const void* input, const uint64_t* send, void* output, const uint64_t* receive, attune_dtype dtype) {
    attune_call call = call_of(ATTUNE_ALL_TO_ALL_V, 0, dtype);
    call.send = send;
    call.receive = receive;
    return attune_run(team, &call, input, output);
}

int attune_send_recv(attune_communicator* team, const void* input, int destination, void* output, int source, uint64_t count, attune_dtype dtype) {
    attune_call call = call_of(ATTUNE_SEND_RECV, count, dtype);
    call.destination = destination;
    call.source = source;
    return attune_run(team, &call, input, output);
}

int attune_batch_send_recv(attune_communicator* team, const void* input, void* output, const attune_transfer* transfers, uint64_t transfer_count,
                           attune_dtype dtype) {
    attune_call call = call_of(ATTUNE_BATCH_SEND_RECV, 0, dtype);
    call.transfers = transfers;
    call.transfer_count = transfer_count;
    return attune_run(team, &call, input, output);
}
// NOLINTEND(readability-function-size)
