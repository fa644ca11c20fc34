// Amounts of all ranks to prove and test with: uneven ones, with holes, and the sparse forms that hang other libraries.
#pragma once

#include "collectives/problem.hpp"

#include <cstdint>
#include <span>
#include <string_view>

namespace attune::collectives {

enum class AmountsShape : std::uint8_t {
    uneven,    // every pair something, no two ranks alike; blocks packed
    gaps,      // the same, blocks apart from each other
    sparse,    // a third of the pairs
    one_hot,   // one pair
    all_zero,  // nobody anything
};

std::span<const AmountsShape> all_amounts_shapes() noexcept;
std::string_view name_of(AmountsShape shape) noexcept;

// The problem of all ranks (see view_of) with blocks of about `unit` elements; problems without amounts get `unit` as count, send_recv both.
Problem with_sample_amounts(Problem problem, AmountsShape shape, std::uint64_t unit);

// Some problem of that collective whose key_bytes() are those of so many elements, as far as its key has a size.
Problem with_elements(Problem problem, std::uint64_t elements);

}  // namespace attune::collectives
