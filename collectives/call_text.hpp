// The text of a call in a record of fixed size.
#pragma once

#include <span>
#include <string_view>

namespace attune::collectives {

// Fills `field`, which starts as zeros and keeps one at its end. A longer text loses whole comma-separated values from its end and says so with "...":
// a value cut in the middle would read as another one. Allocates nothing: every call passes here.
void fit_text(std::string_view text, std::span<char> field) noexcept;

}  // namespace attune::collectives
