// What a call is, and one function per collective that makes it of typed buffers. Included by <attune/attune.hpp>; the methods of attune::Communicator
// take the same arguments: team.gather(input, output, count, root) runs attune::calls::gather(input, output, count, root).
#pragma once

#include <attune/types.hpp>

#include <cstdint>
#include <span>
#include <type_traits>

namespace attune {

// One message of a batch.
struct Transfer {
    bool is_send = true;
    int peer = 0;
    std::uint64_t count = 0;   // elements
    std::uint64_t offset = 0;  // elements, in the input of a send, in the output of a receive
};

using Counts = std::span<const std::uint64_t>;  // elements, one per rank

// One call, without its buffers. `count` = elements of the smaller buffer, one rank's block; p = size():
//   all_reduce        input count                output count
//   all_gather        input count                output p x count
//   reduce_scatter    input p x count            output count
//   broadcast         input count (root's)       output count
//   reduce            input count                output count (root's)
//   gather            input count                output p x count (root's)
//   scatter           input p x count (root's)   output count
//   all_to_all        input p x count            output p x count      block q of the input goes to rank q
//   scan, exscan      input count                output count          of ranks 0..r, of ranks 0..r-1 (rank 0's output stays as it is)
//   all_gather_v      input receive[rank]        output: block q has receive[q] elements at receive_offsets[q]; equal on all ranks
//   reduce_scatter_v  input: block q has send[q] elements at send_offsets[q], equal on all ranks; output send[rank]
//   gather_v          input count                root's output: block q has receive[q] elements at receive_offsets[q]
//   scatter_v         root's input: block q has send[q] elements at send_offsets[q]; output count
//   all_to_all_v      input: block q has send[q] elements at send_offsets[q]; output: block q has receive[q] elements at receive_offsets[q]
//   send_recv         input count to `destination`, output count from `source`; -1 = none of it
//   batch_send_recv   `transfers`, in the same order at both ends of each pair
// Buffers that only the root uses may be null elsewhere. In place there is one buffer, the larger: the rank's own slice of it is the smaller one.
struct Call {
    Collective collective = Collective::barrier;
    std::uint64_t count = 0;
    DType dtype = DType::float32;
    Op op = Op::sum;
    int root = 0;
    bool in_place = false;

    // Read until the call has been started (or prepared). Without offsets blocks are packed in rank order.
    Counts send{}, receive{};
    Counts send_offsets{}, receive_offsets{};
    Counts matrix{};                        // all_to_all_v: p x p, row = sender, when every rank knows all counts
    int destination = -1, source = -1;      // send_recv
    std::span<const Transfer> transfers{};  // batch_send_recv
};

// A call and its buffers.
struct BoundCall {
    Call call;
    const void* input = nullptr;
    void* output = nullptr;
};

// Makes calls; starts nothing.
namespace calls {

// The type of a buffer that may be nullptr where another one names the element type.
template <class T>
using Also = std::type_identity_t<T>;

// One buffer: both ends of it.
template <class T>
BoundCall in_place(Collective collective, T* buffer, std::uint64_t count, Op op = Op::sum, int root = 0) {
    return {{collective, count, dtype_of<T>(), op, root, true}, buffer, buffer};
}

template <class T>
BoundCall all_reduce(const T* input, T* output, std::uint64_t count, Op op = Op::sum) {
    return {{Collective::all_reduce, count, dtype_of<T>(), op}, input, output};
}
template <class T>
BoundCall all_reduce(T* buffer, std::uint64_t count, Op op = Op::sum) {
    return in_place(Collective::all_reduce, buffer, count, op);
}

template <class T>
BoundCall all_gather(const T* input, T* output, std::uint64_t count) {
    return {{Collective::all_gather, count, dtype_of<T>()}, input, output};
}
template <class T>
BoundCall all_gather(T* buffer, std::uint64_t count) {
    return in_place(Collective::all_gather, buffer, count);
}

template <class T>
BoundCall reduce_scatter(const T* input, T* output, std::uint64_t count, Op op = Op::sum) {
    return {{Collective::reduce_scatter, count, dtype_of<T>(), op}, input, output};
}
template <class T>
BoundCall reduce_scatter(T* buffer, std::uint64_t count, Op op = Op::sum) {
    return in_place(Collective::reduce_scatter, buffer, count, op);
}

template <class T>
BoundCall broadcast(const Also<T>* input, T* output, std::uint64_t count, int root) {
    return {{Collective::broadcast, count, dtype_of<T>(), Op::sum, root}, input, output};
}
template <class T>
BoundCall broadcast(T* buffer, std::uint64_t count, int root) {
    return in_place(Collective::broadcast, buffer, count, Op::sum, root);
}

template <class T>
BoundCall reduce(const T* input, Also<T>* output, std::uint64_t count, int root, Op op = Op::sum) {
    return {{Collective::reduce, count, dtype_of<T>(), op, root}, input, output};
}
// The result replaces the root's buffer; the others' stay as they are.
template <class T>
BoundCall reduce(T* buffer, std::uint64_t count, int root, Op op = Op::sum) {
    return in_place(Collective::reduce, buffer, count, op, root);
}

template <class T>
BoundCall gather(const T* input, Also<T>* output, std::uint64_t count, int root) {
    return {{Collective::gather, count, dtype_of<T>(), Op::sum, root}, input, output};
}
// Every rank passes a buffer of size() blocks and contributes block rank().
template <class T>
BoundCall gather(T* buffer, std::uint64_t count, int root) {
    return in_place(Collective::gather, buffer, count, Op::sum, root);
}

template <class T>
BoundCall scatter(const Also<T>* input, T* output, std::uint64_t count, int root) {
    return {{Collective::scatter, count, dtype_of<T>(), Op::sum, root}, input, output};
}
// Every rank passes a buffer of size() blocks and receives block rank().
template <class T>
BoundCall scatter(T* buffer, std::uint64_t count, int root) {
    return in_place(Collective::scatter, buffer, count, Op::sum, root);
}

template <class T>
BoundCall all_to_all(const T* input, T* output, std::uint64_t count) {
    return {{Collective::all_to_all, count, dtype_of<T>()}, input, output};
}
template <class T>
BoundCall all_to_all(T* buffer, std::uint64_t count) {
    return in_place(Collective::all_to_all, buffer, count);
}

template <class T>
BoundCall scan(const T* input, T* output, std::uint64_t count, Op op = Op::sum) {
    return {{Collective::scan, count, dtype_of<T>(), op}, input, output};
}
template <class T>
BoundCall scan(T* buffer, std::uint64_t count, Op op = Op::sum) {
    return in_place(Collective::scan, buffer, count, op);
}
template <class T>
BoundCall exscan(const T* input, T* output, std::uint64_t count, Op op = Op::sum) {
    return {{Collective::exscan, count, dtype_of<T>(), op}, input, output};
}
template <class T>
BoundCall exscan(T* buffer, std::uint64_t count, Op op = Op::sum) {
    return in_place(Collective::exscan, buffer, count, op);
}

inline BoundCall barrier() {
    return {};
}

// `counts[q]` elements of rank q, equal on all ranks.
template <class T>
BoundCall all_gather_v(const Also<T>* input, T* output, Counts counts, Counts offsets = {}) {
    BoundCall made{{Collective::all_gather_v, 0, dtype_of<T>()}, input, output};
    made.call.receive = counts;
    made.call.receive_offsets = offsets;
    return made;
}
template <class T>
BoundCall all_gather_v(T* buffer, Counts counts, Counts offsets = {}) {
    BoundCall made = all_gather_v(buffer, buffer, counts, offsets);
    made.call.in_place = true;
    return made;
}

// `counts[q]` elements of the sum for rank q, equal on all ranks.
template <class T>
BoundCall reduce_scatter_v(const T* input, Also<T>* output, Counts counts, Counts offsets = {}, Op op = Op::sum) {
    BoundCall made{{Collective::reduce_scatter_v, 0, dtype_of<T>(), op}, input, output};
    made.call.send = counts;
    made.call.send_offsets = offsets;
    return made;
}
template <class T>
BoundCall reduce_scatter_v(T* buffer, Counts counts, Counts offsets = {}, Op op = Op::sum) {
    BoundCall made = reduce_scatter_v(buffer, buffer, counts, offsets, op);
    made.call.in_place = true;
    return made;
}

// `count` elements of this rank; the root says with `counts` how many each rank brings, others pass none.
template <class T>
BoundCall gather_v(const T* input, std::uint64_t count, Also<T>* output, Counts counts, int root, Counts offsets = {}) {
    BoundCall made{{Collective::gather_v, count, dtype_of<T>(), Op::sum, root}, input, output};
    made.call.receive = counts;
    made.call.receive_offsets = offsets;
    return made;
}

// `count` elements for this rank; the root says with `counts` how many each rank gets, others pass none.
template <class T>
BoundCall scatter_v(const Also<T>* input, Counts counts, T* output, std::uint64_t count, int root, Counts offsets = {}) {
    BoundCall made{{Collective::scatter_v, count, dtype_of<T>(), Op::sum, root}, input, output};
    made.call.send = counts;
    made.call.send_offsets = offsets;
    return made;
}

template <class T>
BoundCall all_to_all_v(const T* input, Counts send, Also<T>* output, Counts receive, Counts send_offsets = {}, Counts receive_offsets = {}) {
    BoundCall made{{Collective::all_to_all_v, 0, dtype_of<T>()}, input, output};
    made.call.send = send;
    made.call.receive = receive;
    made.call.send_offsets = send_offsets;
    made.call.receive_offsets = receive_offsets;
    return made;
}
// When every rank knows the counts of all: size() x size(), row = sender. More algorithms apply.
template <class T>
BoundCall all_to_all_v(const T* input, Also<T>* output, Counts matrix) {
    BoundCall made{{Collective::all_to_all_v, 0, dtype_of<T>()}, input, output};
    made.call.matrix = matrix;
    return made;
}

// `count` elements to `destination` and as many from `source`; -1 = none.
template <class T>
BoundCall send_recv(const T* input, int destination, Also<T>* output, int source, std::uint64_t count) {
    BoundCall made{{Collective::send_recv, count, dtype_of<T>()}, input, output};
    made.call.destination = destination;
    made.call.source = source;
    return made;
}

// All of them at once, without deadlock in any order; between two ranks the k-th send meets the k-th receive.
template <class T>
BoundCall batch_send_recv(const T* input, Also<T>* output, std::span<const Transfer> transfers) {
    BoundCall made{{Collective::batch_send_recv, 0, dtype_of<T>()}, input, output};
    made.call.transfers = transfers;
    return made;
}

}  // namespace calls

}  // namespace attune
