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

// The message of an Error about the file without the path, which it names in front ("PATH: ...") or as " 'PATH'".
inline std::string reason_of(const std::string& path, std::string message) {
    const std::string front = one_line(path) + ": ", inside = " '" + core::printable(path, 4096) + "'";
    if (message.starts_with(front)) return message.substr(front.size());
    const std::size_t at = message.find(inside);
    return one_line(at == std::string::npos ? message : message.erase(at, inside.size()));
}

}  // namespace attune::db
