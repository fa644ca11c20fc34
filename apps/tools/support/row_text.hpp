// Pieces of a release row as people read them.
#pragma once

#include "db/release.hpp"

#include <string>

namespace attune::tools {

std::string gain_text(double gain, double low, double high);  // "1.42x [1.38,1.47]"
std::string gain_text(const core::TableRow& row);
std::string evidence_text(const db::Evidence& evidence);  // one line

}  // namespace attune::tools
