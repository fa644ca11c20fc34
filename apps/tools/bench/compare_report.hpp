// A comparison as a table, as attune.compare/1 and as CSV.
#pragma once

#include "apps/tools/bench/compare.hpp"
#include "apps/tools/support/color.hpp"
#include "apps/tools/support/json.hpp"

#include <string>

namespace attune::tools::bench {

std::string compare_text(const Options& options, const Pairs& pairs, const Paint& paint);
std::string summary_text(const Verdicts& verdicts);
Json compare_json(const Options& options, const Machine& machine, const Pairs& pairs);
std::string compare_csv(const Pairs& pairs);

}  // namespace attune::tools::bench
