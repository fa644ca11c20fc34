// --list: the catalogue as text and as attune.list/1.
#pragma once

#include "apps/tools/bench/options.hpp"
#include "apps/tools/support/json.hpp"

#include <string>

namespace attune::tools::bench {

std::string list_text(const Options& options);
std::string list_csv(const Options& options);
Json list_json(const Options& options);

}  // namespace attune::tools::bench
