#include "tuner/engine/expectation.hpp"

#include <numeric>

namespace attune::tuner::engine {

namespace {

using collectives::Amounts;
using collectives::Collective;
using collectives::Problem;

std::size_t at(int rank) noexcept {
    return static_cast<std::size_t>(rank);
}

// Where block `index` begins: at its offset, or packed.
std::uint64_t offset_of(const std::vector<std::uint64_t>& offsets, const std::vector<std::uint64_t>& counts, int index) {
    if (!offsets.empty()) return offsets[at(index)];
    return std::accumulate(counts.begin(), counts.begin() + index, std::uint64_t{0});
}

const Amounts& own_amounts(const Problem& view) {
    static const Amounts none;
    return view.amounts ? *view.amounts : none;
}

// Block q of the output comes from rank q, where its input holds what is meant for `rank`.
std::vector<Piece> blocks_of_equal_length(const Problem& problem, std::uint64_t position) {
    std::vector<Piece> pieces;
    for (int peer = 0; peer < problem.ranks; ++peer)
        pieces.push_back({problem.count * static_cast<std::uint64_t>(peer), problem.count, peer, peer + 1, position});
    return pieces;
}

std::vector<Piece> received_blocks(const Problem& problem, int rank) {
    const Problem view = collectives::view_of(problem, rank);
    const Amounts& own = own_amounts(view);
    std::vector<Piece> pieces;
    for (int peer = 0; peer < problem.ranks; ++peer) {
        std::uint64_t position = 0;
        if (problem.collective == Collective::all_to_all_v) {
            const Problem theirs = collectives::view_of(problem, peer);
            position = offset_of(own_amounts(theirs).send_offsets, own_amounts(theirs).send, rank);
        }
        pieces.push_back({offset_of(own.receive_offsets, own.receive, peer), own.receive[at(peer)], peer, peer + 1, position});
    }
    return pieces;
}

// The k-th receive from a peer gets the k-th send of that peer to this rank.
std::vector<Piece> received_transfers(const Problem& problem, int rank) {
    const Problem view = collectives::view_of(problem, rank);
    std::vector<std::size_t> next(at(problem.ranks), 0);
    std::vector<Piece> pieces;
    for (const collectives::Transfer& transfer : own_amounts(view).transfers) {
        if (transfer.is_send) continue;
        const Problem theirs = collectives::view_of(problem, transfer.peer);
        const std::vector<collectives::Transfer>& sends = own_amounts(theirs).transfers;
        std::size_t& from = next[at(transfer.peer)];
        while (!sends.at(from).is_send || sends.at(from).peer != rank)
            ++from;
        pieces.push_back({transfer.offset, transfer.count, transfer.peer, transfer.peer + 1, sends[from].offset});
        ++from;
    }
    return pieces;
}

std::vector<Piece> scattered_block(const Problem& problem, int rank) {
    const Problem roots = collectives::view_of(problem, problem.root);
    const Amounts& amounts = own_amounts(roots);
    return {{0, amounts.send[at(rank)], problem.root, problem.root + 1, offset_of(amounts.send_offsets, amounts.send, rank)}};
}

std::vector<Piece> reduced_block(const Problem& problem, int rank) {
    const Problem view = collectives::view_of(problem, rank);
    const Amounts& amounts = own_amounts(view);
    return {{0, amounts.send[at(rank)], 0, problem.ranks, offset_of(amounts.send_offsets, amounts.send, rank)}};
}

std::vector<Piece> from_source(const Problem& problem, int rank) {
    const int source = own_amounts(collectives::view_of(problem, rank)).source;
    if (source < 0) return {};
    return {{0, problem.count, source, source + 1, 0}};
}

}  // namespace

std::vector<Piece> expected_pieces(const Problem& problem, int rank) {
    const bool root = rank == problem.root;
    const auto own_block = problem.count * static_cast<std::uint64_t>(rank);
    switch (problem.collective) {
        case Collective::all_reduce:
            return {{0, problem.count, 0, problem.ranks, 0}};
        case Collective::reduce:
            return root ? std::vector<Piece>{{0, problem.count, 0, problem.ranks, 0}} : std::vector<Piece>{};
        case Collective::reduce_scatter:
            return {{0, problem.count, 0, problem.ranks, own_block}};
        case Collective::scan:
            return {{0, problem.count, 0, rank + 1, 0}};
        case Collective::exscan:
            return rank != 0 ? std::vector<Piece>{{0, problem.count, 0, rank, 0}} : std::vector<Piece>{};
        case Collective::broadcast:
            return {{0, problem.count, problem.root, problem.root + 1, 0}};
        case Collective::scatter:
            return {{0, problem.count, problem.root, problem.root + 1, own_block}};
        case Collective::all_gather:
            return blocks_of_equal_length(problem, 0);
        case Collective::gather:
            return root ? blocks_of_equal_length(problem, 0) : std::vector<Piece>{};
        case Collective::all_to_all:
            return blocks_of_equal_length(problem, own_block);
        case Collective::all_gather_v:
        case Collective::all_to_all_v:
            return received_blocks(problem, rank);
        case Collective::gather_v:
            return root ? received_blocks(problem, rank) : std::vector<Piece>{};
        case Collective::scatter_v:
            return scattered_block(problem, rank);
        case Collective::reduce_scatter_v:
            return reduced_block(problem, rank);
        case Collective::send_recv:
            return from_source(problem, rank);
        case Collective::batch_send_recv:
            return received_transfers(problem, rank);
        case Collective::barrier:
            break;
    }
    return {};
}

bool has_input(const Problem& problem, int rank) {
    switch (problem.collective) {
        case Collective::broadcast:
        case Collective::scatter:
        case Collective::scatter_v:
            return rank == problem.root;
        case Collective::send_recv:
            return own_amounts(collectives::view_of(problem, rank)).destination >= 0;
        case Collective::barrier:
            return false;
        default:
            return true;
    }
}

bool input_survives(const Problem& problem, int rank) {
    if (!problem.in_place) return true;
    switch (problem.collective) {
        case Collective::all_reduce:
        case Collective::scan:
        case Collective::reduce_scatter:
        case Collective::reduce_scatter_v:
        case Collective::all_to_all:
            return false;
        case Collective::reduce:
            return rank != problem.root;
        case Collective::exscan:
            return rank == 0;
        default:
            return true;
    }
}

bool may_write_elsewhere(const Problem& problem) {
    return problem.in_place && (problem.collective == Collective::reduce_scatter || problem.collective == Collective::reduce_scatter_v);
}

}  // namespace attune::tuner::engine
