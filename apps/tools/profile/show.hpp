// What traces say, as text and as JSON.
#pragma once

#include "apps/tools/support/json.hpp"
#include "profiler/breakdown.hpp"

#include <span>
#include <string>

namespace attune::tools::profile {

struct Report {
    std::vector<profiler::RankTime> ranks;
    std::vector<profiler::CallTime> calls;
    std::vector<profiler::LateRank> late;
    std::vector<int> missing;  // ranks without a trace
};
Report report_of(std::span<const profiler::RankTrace> traces);

std::string report_text(const Report& report);
Json report_json(const Report& report);  // attune.profile/1

}  // namespace attune::tools::profile
