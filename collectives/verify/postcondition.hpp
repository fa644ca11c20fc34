// What each collective promises: which contribution, or fold of contributions, every output element holds at the end.
#pragma once

#include "collectives/problem.hpp"
#include "collectives/verify/trees.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace attune::collectives::verify {

// Elements [first, first + length) of a rank's output hold the elements from `element` on of the inputs of ...
struct Promise {
    enum class Of : std::uint8_t {
        one,     // rank `who`, unchanged
        all,     // every rank once; divided once for avg
        prefix,  // ranks 0 .. who - 1 once each
    };
    Of of = Of::one;
    Rank who = 0;
    std::uint64_t first = 0;
    std::uint64_t length = 0;
    std::uint64_t element = 0;
};

// Ascending and disjoint; what no promise covers must not be touched. `global` knows the amounts of all ranks.
std::vector<Promise> promises_of(const Problem& global, Rank rank);

bool keeps(const Trees& trees, const Problem& problem, const Promise& promise, Tree tree) noexcept;
std::string describe(const Trees& trees, const Problem& problem, const Promise& promise);  // "every rank once"

}  // namespace attune::collectives::verify
