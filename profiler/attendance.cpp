#include "profiler/attendance.hpp"

#include "libcore/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace attune::profiler {

namespace {

bool share_a_team(const RankTrace& a, const RankTrace& b) {
    return std::ranges::any_of(a.teams, [&](const TeamEvents& one) {
        return std::ranges::any_of(b.teams, [&](const TeamEvents& other) { return one.source.team == other.source.team; });
    });
}

}  // namespace

void require_one_job(std::span<const RankTrace> traces) {
    for (std::size_t i = 0; i < traces.size(); ++i) {
        for (std::size_t k = 0; k < i; ++k) {
            const RankTrace &first = traces[k], &second = traces[i];
            if (first.rank != second.rank) continue;
            if (first.process != second.process)
                throw core::Error(core::ErrorCode::usage,
                                  fmt::format("{} and {} are of two jobs: rank {} is process {} in one and {} in the other; show one at a time", first.file,
                                              second.file, first.rank, first.process, second.process));
            if (share_a_team(first, second))
                throw core::Error(core::ErrorCode::usage,
                                  fmt::format("{} and {} hold the same events of rank {}; give each trace once", first.file, second.file, first.rank));
        }
    }
}

std::vector<int> missing_ranks(std::span<const RankTrace> traces) {
    core::StepSource largest{0, 0, 0};
    for (const RankTrace& trace : traces)
        for (const TeamEvents& team : trace.teams)
            if (team.source.ranks > largest.ranks) largest = team.source;
    std::set<int> missing;
    for (int rank = 0; rank < static_cast<int>(largest.ranks); ++rank)
        missing.insert(rank);
    for (const RankTrace& trace : traces)
        for (const TeamEvents& team : trace.teams)
            if (team.source.team == largest.team) missing.erase(static_cast<int>(team.source.rank));
    return {missing.begin(), missing.end()};
}

}  // namespace attune::profiler
