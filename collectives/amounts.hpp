// How many elements go between which ranks in the collectives with amounts: blocks, totals, one rank's view, and what is wrong with them.
#pragma once

#include "collectives/problem.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attune::collectives {

// Elements [offset, offset + length) of one rank's input or output.
struct Block {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;

    friend bool operator==(const Block&, const Block&) = default;
};

// For provers and tests, who hold the amounts of all ranks in one problem: what rank `rank` would pass. Gives back what is a view already, and
// every problem without amounts. A problem of all ranks has
//   all_gather_v, reduce_scatter_v  nothing more than a view
//   gather_v     receive of the root, no send                  scatter_v  send of the root, no receive
//   all_to_all_v the matrix; the view is the own row and column (the known_matrix form is the problem itself)
//   send_recv, batch_send_recv      the transfers of all ranks with Transfer::rank set
Problem view_of(const Problem& global, Rank rank);

// Per peer: what this rank's input holds for it, what this rank's output gets of it. Of a view or of a problem of all ranks.
std::vector<Block> send_blocks(const Problem& problem, Rank rank);
std::vector<Block> receive_blocks(const Problem& problem, Rank rank);
std::uint64_t block_offset(const std::vector<std::uint64_t>& counts, const std::vector<std::uint64_t>& offsets, Rank index) noexcept;

enum class Side : std::uint8_t { input, output };
struct AmountsTotal {
    std::uint64_t sum = 0;     // elements that belong to blocks
    std::uint64_t extent = 0;  // elements of the buffer, gaps between blocks included
};
// Of the rank with most, as far as the problem knows.
AmountsTotal amounts_total(const Problem& problem, Side side) noexcept;
// Elements of the buffer of this rank.
std::uint64_t amounts_of(const Problem& problem, Rank rank, Side side);

// All ranks see the same amounts, so that they may cut and choose by them.
bool amounts_known_to_all(const Problem& problem) noexcept;
// Any rank can generate any other's schedule from its own problem. Of send_recv the count is known to all, but not who sends to whom.
inline bool schedules_known_to_all(const Problem& problem) noexcept {
    return !has_amounts(problem.collective) || (amounts_known_to_all(problem) && problem.collective != Collective::send_recv);
}
// The longest block any rank could have to cut; needs amounts known to all.
std::uint64_t longest_block(const Problem& problem) noexcept;

// Why the amounts make no problem, or nothing: what every rank can see, and what this rank can see besides.
std::optional<std::string> wrong_amounts(const Problem& problem);
std::optional<std::string> wrong_amounts(const Problem& view, Rank rank);

}  // namespace attune::collectives
