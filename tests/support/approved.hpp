// Approved text: what a tool prints, kept in a file beside the tests.
#pragma once

#include <string>

namespace attune::test {

// "" when tests/data/approved/<name> holds exactly `text`; else the first line that differs. The new text then lies in the build folder as <name>.received,
// to be looked at and copied over the approved one.
std::string approved(const std::string& name, const std::string& text);

// Every number as '#', and spaces in a row as one: what is left of a measurement when its values are taken away.
std::string blotted(const std::string& text);

}  // namespace attune::test
