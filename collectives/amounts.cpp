#include "collectives/amounts.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace attune::collectives {

namespace {

using Counts = std::vector<std::uint64_t>;
using enum Collective;

std::uint64_t sum_of(const Counts& counts) noexcept {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}
std::uint64_t most_of(const Counts& counts) noexcept {
    return counts.empty() ? 0 : *std::ranges::max_element(counts);
}

AmountsTotal total_of(const Counts& counts, const Counts& offsets) noexcept {
    AmountsTotal total{sum_of(counts), 0};
    if (offsets.empty()) total.extent = total.sum;
    for (std::size_t i = 0; i < std::min(offsets.size(), counts.size()); ++i)
        total.extent = std::max(total.extent, counts[i] == 0 ? 0 : offsets[i] + counts[i]);
    return total;
}

AmountsTotal one(std::uint64_t elements) noexcept {
    return {elements, elements};
}

Counts row_of(const Problem& problem, Rank rank) {
    const auto ranks = static_cast<std::ptrdiff_t>(problem.ranks);
    const auto begin = problem.amounts->matrix.begin() + rank * ranks;
    return {begin, begin + ranks};
}
Counts column_of(const Problem& problem, Rank rank) {
    Counts column;
    for (Rank sender = 0; sender < problem.ranks; ++sender)
        column.push_back(problem.amounts->matrix[static_cast<std::size_t>(sender * problem.ranks + rank)]);
    return column;
}

bool is_global(const Problem& problem) noexcept {
    const Amounts& amounts = *problem.amounts;
    switch (problem.collective) {
        case gather_v:
            return amounts.send.empty();
        case scatter_v:
            return amounts.receive.empty();
        case all_to_all_v:
            return !amounts.matrix.empty();
        case send_recv:
            return !amounts.transfers.empty();
        case batch_send_recv:
            return std::ranges::any_of(amounts.transfers, [](const Transfer& transfer) { return transfer.rank >= 0; });
        default:
            return false;
    }
}

// The transfers with Transfer::rank set, those of one rank.
std::vector<Transfer> transfers_of(const Amounts& amounts, Rank rank) {
    std::vector<Transfer> own;
    for (Transfer transfer : amounts.transfers) {
        if (transfer.rank != rank) continue;
        transfer.rank = -1;
        own.push_back(transfer);
    }
    return own;
}

Amounts view(const Problem& global, Rank rank) {
    const Amounts& all = *global.amounts;
    const auto at = static_cast<std::size_t>(rank);
    Amounts own;
    switch (global.collective) {
        case gather_v:
            if (rank == global.root) own = all;
            own.send = {all.receive[at]};
            break;
        case scatter_v:
            if (rank == global.root) own = all;
            own.receive = {all.send[at]};
            break;
        case all_to_all_v:
            own.send = row_of(global, rank);
            own.receive = column_of(global, rank);
            own.send_offsets = all.send_offsets;
            own.receive_offsets = all.receive_offsets;
            break;
        case send_recv:
            for (const Transfer& transfer : transfers_of(all, rank))
                (transfer.is_send ? own.destination : own.source) = transfer.peer;
            break;
        default:
            own.transfers = transfers_of(all, rank);
    }
    return own;
}

AmountsTotal batch_total(const Amounts& amounts, bool sends) noexcept {
    AmountsTotal total;
    for (const Transfer& transfer : amounts.transfers) {
        if (transfer.is_send != sends || transfer.count == 0) continue;
        total.sum += transfer.count;
        total.extent = std::max(total.extent, transfer.offset + transfer.count);
    }
    return total;
}

AmountsTotal matrix_total(const Problem& problem, bool rows) noexcept {
    const auto ranks = static_cast<std::size_t>(problem.ranks);
    std::uint64_t most = 0;
    for (std::size_t a = 0; a < ranks; ++a) {
        std::uint64_t sum = 0;
        for (std::size_t b = 0; b < ranks; ++b)
            sum += problem.amounts->matrix[rows ? a * ranks + b : b * ranks + a];
        most = std::max(most, sum);
    }
    return one(most);
}

AmountsTotal input_total(const Problem& problem, const Amounts& amounts) noexcept {
    switch (problem.collective) {
        case all_gather_v:
            return one(most_of(amounts.receive));
        case gather_v:
            return one(amounts.send.empty() ? most_of(amounts.receive) : amounts.send[0]);
        case all_to_all_v:
            return amounts.matrix.empty() ? total_of(amounts.send, amounts.send_offsets) : matrix_total(problem, true);
        case send_recv:
            return one(amounts.destination >= 0 || is_global(problem) ? problem.count : 0);
        case batch_send_recv:
            return batch_total(amounts, true);
        default:
            return total_of(amounts.send, amounts.send_offsets);
    }
}

AmountsTotal output_total(const Problem& problem, const Amounts& amounts) noexcept {
    switch (problem.collective) {
        case reduce_scatter_v:
            return one(most_of(amounts.send));
        case scatter_v:
            return one(amounts.receive.empty() ? most_of(amounts.send) : amounts.receive[0]);
        case all_to_all_v:
            return amounts.matrix.empty() ? total_of(amounts.receive, amounts.receive_offsets) : matrix_total(problem, false);
        case send_recv:
            return one(amounts.source >= 0 || is_global(problem) ? problem.count : 0);
        case batch_send_recv:
            return batch_total(amounts, false);
        default:
            return total_of(amounts.receive, amounts.receive_offsets);
    }
}

std::vector<Block> blocks_of(const Counts& counts, const Counts& offsets) {
    std::vector<Block> blocks;
    std::uint64_t packed = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        blocks.push_back({offsets.empty() ? packed : offsets[i], counts[i]});
        packed += counts[i];
    }
    return blocks;
}

}  // namespace

Problem view_of(const Problem& global, Rank rank) {
    if (!has_amounts(global.collective) || !global.amounts || !is_global(global)) return global;
    Problem own = global;
    own.amounts = std::make_shared<const Amounts>(view(global, rank));
    return own;
}

std::vector<Block> send_blocks(const Problem& problem, Rank rank) {
    const Amounts& amounts = *problem.amounts;
    return amounts.matrix.empty() ? blocks_of(amounts.send, amounts.send_offsets) : blocks_of(row_of(problem, rank), amounts.send_offsets);
}

std::vector<Block> receive_blocks(const Problem& problem, Rank rank) {
    const Amounts& amounts = *problem.amounts;
    return amounts.matrix.empty() ? blocks_of(amounts.receive, amounts.receive_offsets) : blocks_of(column_of(problem, rank), amounts.receive_offsets);
}

std::uint64_t block_offset(const Counts& counts, const Counts& offsets, Rank index) noexcept {
    const auto at = static_cast<std::size_t>(index);
    return offsets.empty() ? std::accumulate(counts.begin(), counts.begin() + index, std::uint64_t{0}) : offsets[at];
}

AmountsTotal amounts_total(const Problem& problem, Side side) noexcept {
    if (!problem.amounts) return {};
    return side == Side::input ? input_total(problem, *problem.amounts) : output_total(problem, *problem.amounts);
}

std::uint64_t amounts_of(const Problem& problem, Rank rank, Side side) {
    const bool own_block = (problem.collective == all_gather_v && side == Side::input) || (problem.collective == reduce_scatter_v && side == Side::output);
    if (own_block) return (side == Side::input ? problem.amounts->receive : problem.amounts->send)[static_cast<std::size_t>(rank)];
    return amounts_total(view_of(problem, rank), side).extent;
}

bool amounts_known_to_all(const Problem& problem) noexcept {
    const bool shared = problem.collective == all_gather_v || problem.collective == reduce_scatter_v || problem.collective == send_recv;
    return shared || (problem.collective == all_to_all_v && problem.amounts && !problem.amounts->matrix.empty());
}

std::uint64_t longest_block(const Problem& problem) noexcept {
    if (problem.collective == send_recv || !problem.amounts) return problem.count;
    const Amounts& amounts = *problem.amounts;
    return std::max({most_of(amounts.send), most_of(amounts.receive), most_of(amounts.matrix)});
}

}  // namespace attune::collectives
