// Names of parameterized tests: what GoogleTest and ctest accept, the same in every run.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>

namespace attune::test {

// `text` without the characters that a name of a test may not have.
inline std::string parameter_name(std::string text) {
    std::erase_if(text, [](char letter) { return std::isalnum(static_cast<unsigned char>(letter)) == 0; });
    return text;
}

}  // namespace attune::test
