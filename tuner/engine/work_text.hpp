// The loaded work as text, so that a launch needs no layout of its own for strings.
#pragma once

#include "tuner/arena.hpp"

#include <string>
#include <string_view>

namespace attune::tuner::engine {

// First line the problem, second its amounts, then one config per line. parse_work(print_work(w)) == w. parse_work() throws Error(failure).
std::string print_work(const Work& work);
Work parse_work(std::string_view text);

}  // namespace attune::tuner::engine
