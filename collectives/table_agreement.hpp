// How the table that rank 0 found becomes every rank's: as bytes, over the communicator itself.
#pragma once

#include "collectives/communicator.hpp"

#include <cstddef>
#include <functional>
#include <vector>

namespace attune::collectives {

// Runs the source; what it throws becomes a warning of the result. An empty source gives an empty result.
TableResult run_table_source(const TableSource& source);

std::vector<std::byte> serialize(const TableResult& result);
// Throws Error(check_failed) for bytes that serialize() cannot have made.
TableResult parse_table_result(std::span<const std::byte> bytes);

// Moves bytes between the ranks while a communicator is made.
struct Exchange {
    std::function<void(void* bytes, std::uint64_t size)> broadcast;  // in place, from rank 0; size a multiple of 8
    std::function<std::vector<std::uint64_t>(std::uint64_t)> all_gather;
};
// Collective. Every rank returns rank 0's result. Throws Error(check_failed) on every rank when a rank holds another table afterwards, and the
// result's own fatal error (require mode).
TableResult agree_on_table(Rank rank, const TableSource& source, const Exchange& exchange);

// Throws the result's fatal error, if any.
void throw_if_fatal(const TableResult& result);

}  // namespace attune::collectives
