// The amounts of the calls made last, so that a repeated call allocates nothing.
#pragma once

#include "apps/runtime/include/attune/calls.hpp"
#include "collectives/problem.hpp"

#include <array>
#include <cstddef>
#include <memory>

namespace attune::detail {

class AmountsMemory {
public:
    // Of a call of a collective with amounts: those of an earlier call with the same contents, else new ones, for which the oldest go.
    std::shared_ptr<const collectives::Amounts> of(const Call& call);

private:
    std::array<std::shared_ptr<const collectives::Amounts>, 8> recent_;
    std::size_t oldest_ = 0;
};

}  // namespace attune::detail
