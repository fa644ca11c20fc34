// Which problems a tuning run works on, and in which order.
#pragma once

#include "collectives/problem.hpp"
#include "libcore/key.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attune::tuner {

struct LadderOptions {
    std::vector<collectives::Collective> collectives;
    std::vector<std::uint64_t> sizes;  // totals in bytes
    int ranks = 2;
    std::string node_map;
    core::DType dtype = core::DType::float32;
    core::Op op = core::Op::sum;
    bool in_place = false;
};

// The problem of a total size: rounded down to whole blocks, but at least one element a rank.
collectives::Problem problem_of_size(const LadderOptions& options, collectives::Collective collective, std::uint64_t bytes);
// Small sizes first and round robin over the collectives, so an interrupted run has something for each. No problem twice.
std::vector<collectives::Problem> ladder(const LadderOptions& options);

// The problem a row was proven on; nothing when key or size cannot be one (a newer collective, a size that is not whole blocks).
std::optional<collectives::Problem> problem_of_key(const core::Key& key, std::uint64_t bytes);
// Why no row of the collective could be trusted, or nothing. A row of a _v form is looked up by the total, or for every size at once, and would be used
// for any amounts: what equal blocks prove says nothing of uneven ones.
std::optional<std::string> why_untunable(collectives::Collective collective);
// "all_reduce 64 KiB".
std::string label_of(const collectives::Problem& problem);

}  // namespace attune::tuner
