#include "tests/support/approved.hpp"

#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace attune::test {

namespace {

std::string file_text(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string first_difference(const std::string& approved, const std::string& received) {
    std::istringstream left(approved), right(received);
    std::string a, b;
    for (int line = 1;; ++line) {
        const bool more_a = static_cast<bool>(std::getline(left, a));
        const bool more_b = static_cast<bool>(std::getline(right, b));
        if (!more_a && !more_b) return "the ends of the texts differ";
        if (more_a != more_b || a != b) return "line " + std::to_string(line) + ": approved '" + (more_a ? a : "") + "', received '" + (more_b ? b : "") + "'";
    }
}

}  // namespace

std::string approved(const std::string& name, const std::string& text) {
    const std::filesystem::path path = std::filesystem::path(ATTUNE_APPROVED_FOLDER) / name;
    const std::string wanted = file_text(path);
    if (wanted == text) return {};
    const std::filesystem::path received = std::filesystem::path(ATTUNE_RECEIVED_FOLDER) / (name + ".received");
    std::filesystem::create_directories(received.parent_path());
    std::ofstream(received, std::ios::binary) << text;
    return first_difference(wanted, text) + "; all of it: " + received.string();
}

std::string blotted(const std::string& text) {
    std::string out;
    for (const char letter : text) {
        const bool digit = std::isdigit(static_cast<unsigned char>(letter)) != 0 || (letter == '.' && !out.empty() && out.back() == '#');
        if (digit && !out.empty() && out.back() == '#') continue;
        if (letter == ' ' && !out.empty() && out.back() == ' ') continue;
        out += digit ? '#' : letter;
    }
    return out;
}

}  // namespace attune::test
