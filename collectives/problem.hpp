// What is asked for: a collective on so many ranks and elements. Every field but the amounts is equal on all ranks by contract.
#pragma once

#include "libcore/dtypes.hpp"
#include "libcore/ops.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attune::collectives {

using Rank = std::int32_t;

enum class Collective : std::uint8_t {
    all_reduce,
    all_gather,
    reduce_scatter,
    broadcast,
    reduce,
    gather,
    scatter,
    all_to_all,
    barrier,
    scan,
    exscan,
    all_gather_v,
    reduce_scatter_v,
    gather_v,
    scatter_v,
    all_to_all_v,
    send_recv,
    batch_send_recv,
};

std::string_view name_of(Collective collective) noexcept;
Collective parse_collective(std::string_view text);  // throws Error(usage) naming the nearest
std::span<const Collective> all_collectives() noexcept;
bool is_rooted(Collective collective) noexcept;    // broadcast, reduce, gather, scatter, gather_v, scatter_v
bool reduces(Collective collective) noexcept;      // all_reduce, reduce_scatter, reduce, scan, exscan, reduce_scatter_v
bool has_amounts(Collective collective) noexcept;  // the _v forms, send_recv and batch_send_recv: they need Problem::amounts
bool has_blocks(Collective collective) noexcept;   // the larger buffer holds one block of `count` elements per rank
bool has_in_place(Collective collective) noexcept;
bool can_average(Collective collective) noexcept;  // `avg` divides once: all_reduce, reduce_scatter, reduce, reduce_scatter_v

// One message of a batch, in elements of the input (sends) or the output (receives).
struct Transfer {
    bool is_send = true;
    Rank peer = 0;
    std::uint64_t count = 0;
    std::uint64_t offset = 0;
    Rank rank = -1;  // only in a list of all ranks' transfers (view_of): whose it is

    friend bool operator==(const Transfer&, const Transfer&) = default;
};

// Elements per peer of the collectives that need them. Immutable, shared by copies of the problem. What each collective reads is said at Problem.
struct Amounts {
    std::vector<std::uint64_t> send = {}, receive = {};
    std::vector<std::uint64_t> send_offsets = {}, receive_offsets = {};  // empty = packed in rank order
    std::vector<std::uint64_t> matrix = {};                              // known_matrix: ranks x ranks, row = sender, equal on all ranks; else empty
    int destination = -1, source = -1;                                   // send_recv; -1 = none
    std::vector<Transfer> transfers = {};                                // batch_send_recv, in program order

    friend bool operator==(const Amounts&, const Amounts&) = default;
};

// Elements of each rank's buffers, `count` = elements of the smaller buffer (one rank's block):
//   all_reduce      input count                 output count
//   all_gather      input count                 output ranks x count
//   reduce_scatter  input ranks x count         output count
//   broadcast       input count (root's)        output count
//   reduce          input count                 output count (root's)
//   gather          input count                 output ranks x count (root's)
//   scatter         input ranks x count (root's) output count
//   all_to_all      input ranks x count         output ranks x count: block q of the input goes to rank q
//   barrier         none; count is 0
//   scan, exscan    input count                 output count; exscan leaves rank 0's output untouched
// With amounts, `count` is 0 (but for send_recv):
//   all_gather_v     input receive[rank]        output: block q has receive[q] elements at receive_offsets[q]; equal on all ranks
//   reduce_scatter_v input: block q has send[q] elements at send_offsets[q], equal on all ranks; output send[rank]
//   gather_v         input send[0]              root's output: block q has receive[q] elements at receive_offsets[q]
//   scatter_v        root's input: block q has send[q] elements at send_offsets[q]; output receive[0]
//   all_to_all_v     input: block q, for rank q, has send[q] elements at send_offsets[q]; output: block q, of rank q, receive[q] at receive_offsets[q].
//                    Either the own row and column, or the matrix of all
//   send_recv        input count to `destination`, output count from `source`
//   batch_send_recv  the transfers; the k-th send of a to b meets the k-th receive at b of a
struct Problem {
    Collective collective = Collective::all_reduce;
    int ranks = 1;
    std::uint64_t count = 0;
    core::DType dtype = core::DType::float32;
    core::Op op = core::Op::sum;
    int root = 0;
    // One buffer, NCCL's placement, on every rank of the larger size: all_reduce, broadcast, reduce, scan, exscan and all_to_all share it whole; the input
    // of all_gather and gather is output + rank x count; the output of reduce_scatter and scatter is input + rank x count; likewise the own block of
    // all_gather_v and reduce_scatter_v. What is no result keeps its value: the other ranks' buffers of a reduce, say.
    bool in_place = false;
    std::string node_map = {};  // canonical text, "1x4"
    std::shared_ptr<const Amounts> amounts = nullptr;

    // Of the rank that passes most: the root, where only the root passes any.
    std::uint64_t input_elements() const noexcept;
    std::uint64_t output_elements() const noexcept;
    // What this rank contributes and gets; 0 where it passes no buffer. In place these are slices of the one buffer.
    std::uint64_t input_elements(Rank rank) const;
    std::uint64_t output_elements(Rank rank) const;
    std::uint64_t in_place_elements() const noexcept;  // of the one buffer
    // Of the larger buffer, 0 for barrier; with amounts the total of the larger vector, which ranks with private amounts see differently.
    std::uint64_t bytes() const noexcept;
    // What choices look at, equal on all ranks: bytes(), but 0 for gather_v, scatter_v, all_to_all_v and batch_send_recv.
    std::uint64_t key_bytes() const noexcept;

    friend bool operator==(const Problem& a, const Problem& b) noexcept;  // contents of the amounts
};

// Position of `input` (or `output`) inside the one user buffer of an in-place call, in elements.
std::uint64_t in_place_input_offset(const Problem& problem, Rank rank) noexcept;
std::uint64_t in_place_output_offset(const Problem& problem, Rank rank) noexcept;
// The one buffer of an in-place call is the input: reduce_scatter, scatter, reduce_scatter_v.
bool in_place_is_input(Collective collective) noexcept;

// The op is avg and there is something to divide: the owner of a final value scales it, once.
bool averages(const Problem& problem) noexcept;

}  // namespace attune::collectives
