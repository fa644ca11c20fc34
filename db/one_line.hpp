// Paths and SQLite's texts may hold line breaks; a message is one line.
#pragma once

#include "libcore/text.hpp"

#include <algorithm>
#include <string>

namespace attune::db {

// The text itself, or escaped when it holds control characters. Applying it twice changes nothing.
inline std::string one_line(const std::string& text) {
    const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
    return std::ranges::any_of(text, control) ? core::printable(text, 4096) : text;
}

}  // namespace attune::db
