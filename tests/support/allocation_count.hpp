// Counts what the calling thread allocates; linking this file replaces the global operator new.
#pragma once

#include <cstdint>

namespace attune::test {

// Allocations of this thread so far.
std::uint64_t allocations() noexcept;

}  // namespace attune::test
