// What can be wrong with the amounts of a problem, as one understandable line.
#include "collectives/amounts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace attune::collectives {

namespace {

using Reason = std::optional<std::string>;
using Counts = std::vector<std::uint64_t>;
using enum Collective;

constexpr std::uint64_t most_elements = std::uint64_t{1} << 56;

Reason wrong_length(std::string_view what, const Counts& counts, std::size_t wanted) {
    if (counts.size() == wanted) return {};
    return fmt::format("{} has {} entries; {} are needed, one per rank", what, counts.size(), wanted);
}

// No entry, offset or sum may come near the end of the numbers.
Reason too_large(std::string_view what, const Counts& counts) {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : counts) {
        if (count > most_elements || sum + count > most_elements) return fmt::format("{} adds up to more than 2^56 elements", what);
        sum += count;
    }
    return {};
}

Reason overlapping(std::string_view what, std::vector<Block> blocks) {
    std::erase_if(blocks, [](const Block& block) { return block.length == 0; });
    std::ranges::sort(blocks, {}, &Block::offset);
    for (std::size_t i = 1; i < blocks.size(); ++i) {
        if (blocks[i].offset < blocks[i - 1].offset + blocks[i - 1].length)
            return fmt::format("blocks of {} overlap: one begins at element {}, within the {} elements from {}", what, blocks[i].offset, blocks[i - 1].length,
                               blocks[i - 1].offset);
    }
    return {};
}

struct Vectors {
    std::string_view name;
    const Counts& counts;
    const Counts& offsets;
    bool disjoint = true;  // written, or read in place
};

Reason wrong_side(const Vectors& side, std::size_t ranks) {
    if (Reason reason = wrong_length(side.name, side.counts, ranks)) return reason;
    if (Reason reason = too_large(side.name, side.counts)) return reason;
    if (side.offsets.empty()) return {};
    const std::string offsets = fmt::format("{}_offsets", side.name);
    if (Reason reason = wrong_length(offsets, side.offsets, ranks)) return reason;
    if (std::ranges::any_of(side.offsets, [](std::uint64_t offset) { return offset > most_elements; }))
        return fmt::format("{} holds an offset above 2^56", offsets);
    std::vector<Block> blocks;
    for (std::size_t i = 0; i < ranks; ++i)
        blocks.push_back({side.offsets[i], side.counts[i]});
    return side.disjoint ? overlapping(side.name, std::move(blocks)) : Reason{};
}

// One rank's view holds the own count; the root's, or a problem of all ranks, the counts of all.
Reason wrong_rooted(const Vectors& own, const Vectors& all, std::size_t ranks) {
    if (own.counts.size() > 1) return fmt::format("{} has {} entries; 1 is needed, the own one", own.name, own.counts.size());
    if (own.counts.empty() && all.counts.empty()) return fmt::format("there is neither {} nor {}", own.name, all.name);
    if (Reason reason = too_large(own.name, own.counts)) return reason;
    return all.counts.empty() ? Reason{} : wrong_side(all, ranks);
}

Reason wrong_all_to_all(const Amounts& amounts, std::size_t ranks) {
    if (amounts.matrix.empty()) {
        if (Reason reason = wrong_side({"send", amounts.send, amounts.send_offsets, false}, ranks)) return reason;
        return wrong_side({"receive", amounts.receive, amounts.receive_offsets}, ranks);
    }
    if (!amounts.send.empty() || !amounts.receive.empty()) return "both the matrix and own counts are given; give one of them";
    if (amounts.matrix.size() != ranks * ranks) return fmt::format("the matrix has {} entries; {} ranks need {}", amounts.matrix.size(), ranks, ranks * ranks);
    return too_large("the matrix", amounts.matrix);
}

Reason wrong_peer(std::string_view what, int peer, int least, int ranks) {
    if (peer >= least && peer < ranks) return {};
    return fmt::format("{} {} of {} ranks; it is {} to {}", what, peer, ranks, least, ranks - 1);
}

Reason wrong_batch(const Amounts& amounts, int ranks) {
    std::map<Rank, std::vector<Block>> received;
    for (const Transfer& transfer : amounts.transfers) {
        if (Reason reason = wrong_peer("peer", transfer.peer, 0, ranks)) return reason;
        if (transfer.count > most_elements || transfer.offset > most_elements) return "a transfer is above 2^56 elements";
        if (!transfer.is_send) received[transfer.rank].push_back({transfer.offset, transfer.count});
    }
    for (const auto& [rank, blocks] : received)
        if (Reason reason = overlapping("the receives", blocks)) return reason;
    return {};
}

Reason wrong_pair(const Problem& problem) {
    if (Reason reason = wrong_peer("destination", problem.amounts->destination, -1, problem.ranks)) return reason;
    if (Reason reason = wrong_peer("source", problem.amounts->source, -1, problem.ranks)) return reason;
    return wrong_batch(*problem.amounts, problem.ranks);
}

Reason own_differs(std::uint64_t sent, std::uint64_t received) {
    if (sent == received) return {};
    return fmt::format("this rank sends {} elements to itself, but receives {}", sent, received);
}

Reason wrong_at_root(const Counts& own, const Counts& all, Rank rank) {
    if (all.empty()) return "the root needs the counts of all ranks";
    return own.empty() ? Reason{} : own_differs(own[0], all[static_cast<std::size_t>(rank)]);
}

Counts own_messages(const Amounts& amounts, Rank rank, bool sends) {
    Counts counts;
    for (const Transfer& transfer : amounts.transfers)
        if (transfer.peer == rank && transfer.is_send == sends && (transfer.rank < 0 || transfer.rank == rank)) counts.push_back(transfer.count);
    return counts;
}

}  // namespace

std::optional<std::string> wrong_amounts(const Problem& problem) {
    if (!has_amounts(problem.collective)) return {};
    if (!problem.amounts) return fmt::format("{} needs the amounts of its blocks", name_of(problem.collective));
    if (problem.count != 0 && problem.collective != send_recv)
        return fmt::format("count {} for {}; its amounts say how many elements, use 0", problem.count, name_of(problem.collective));
    const Amounts& amounts = *problem.amounts;
    const auto ranks = static_cast<std::size_t>(problem.ranks);
    const Vectors send{"send", amounts.send, amounts.send_offsets, problem.collective == reduce_scatter_v};
    const Vectors receive{"receive", amounts.receive, amounts.receive_offsets};
    switch (problem.collective) {
        case all_gather_v:
            return wrong_side(receive, ranks);
        case reduce_scatter_v:
            return wrong_side(send, ranks);
        case gather_v:
            return wrong_rooted(send, receive, ranks);
        case scatter_v:
            return wrong_rooted(receive, send, ranks);
        case all_to_all_v:
            return wrong_all_to_all(amounts, ranks);
        case send_recv:
            return wrong_pair(problem);
        default:
            return wrong_batch(amounts, problem.ranks);
    }
}

std::optional<std::string> wrong_amounts(const Problem& view, Rank rank) {
    if (Reason reason = wrong_amounts(view)) return reason;
    const auto at = static_cast<std::size_t>(rank);
    switch (view.collective) {
        case gather_v:
            return rank == view.root ? wrong_at_root(view.amounts->send, view.amounts->receive, rank) : Reason{};
        case scatter_v:
            return rank == view.root ? wrong_at_root(view.amounts->receive, view.amounts->send, rank) : Reason{};
        case all_to_all_v:
            return view.amounts->matrix.empty() ? own_differs(view.amounts->send[at], view.amounts->receive[at]) : Reason{};
        case send_recv:
            return (view.amounts->destination == rank) == (view.amounts->source == rank)
                       ? Reason{}
                       : fmt::format("rank {} names itself as destination or source, but not as both", rank);
        case batch_send_recv:
            return own_messages(*view.amounts, rank, true) == own_messages(*view.amounts, rank, false)
                       ? Reason{}
                       : fmt::format("the messages of rank {} to itself are not received as they are sent", rank);
        default:
            return {};
    }
}

}  // namespace attune::collectives
