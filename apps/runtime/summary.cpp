// The one line at the end of a job.
#include "apps/runtime/job.hpp"
#include "libcore/units.hpp"
#include "tuner/ladder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

namespace attune::detail {

namespace {

using collectives::CallStatistics;
using ProblemTime = CallStatistics::Problem_time;

std::string shares(const CallStatistics& statistics) {
    const auto percent = [&](std::uint64_t part) {
        return 100.0 * static_cast<double>(part) / static_cast<double>(std::max<std::uint64_t>(statistics.calls, 1));
    };
    return fmt::format("{} calls: {:.0f} % exact, {:.0f} % interval, {:.0f} % default, {:.0f} % forced", statistics.calls, percent(statistics.exact),
                       percent(statistics.interval), percent(statistics.none), percent(statistics.forced));
}

std::string describe(const ProblemTime& entry) {
    const collectives::Problem& problem = entry.problem;
    std::string text(name_of(problem.collective));
    if (problem.collective != collectives::Collective::barrier)
        text += fmt::format(" {} {}", core::format_bytes(problem.bytes()), core::name_of(problem.dtype));
    if (reduces(problem.collective)) text += fmt::format(" {}", core::name_of(problem.op));
    if (problem.in_place) text += " in place";
    if (entry.total_us <= 0) return text + fmt::format(" ({} calls)", entry.calls);  // times are taken only for traces and at the level info
    return text + fmt::format(" ({} calls, {})", entry.calls, core::format_time_us(entry.total_us));
}

// One run of attune-tune tunes one number of ranks, type, operator and placement: those of the costliest.
bool tuned_together(const collectives::Problem& a, const collectives::Problem& b) {
    return a.dtype == b.dtype && a.in_place == b.in_place && a.op == b.op && a.ranks == b.ranks;
}

// Empty when none of them can be tuned.
std::string command_for(const std::vector<ProblemTime>& costliest) {
    std::uint64_t low = std::numeric_limits<std::uint64_t>::max(), high = 0;
    std::set<std::string> names;
    const auto tunable = [](const ProblemTime& entry) { return !tuner::why_untunable(entry.problem.collective); };
    const auto costliest_tunable = std::ranges::find_if(costliest, tunable);
    if (costliest_tunable == costliest.end()) return {};
    const collectives::Problem& first = costliest_tunable->problem;
    for (const ProblemTime& entry : costliest) {
        if (!tunable(entry) || !tuned_together(entry.problem, first)) continue;
        names.emplace(name_of(entry.problem.collective));
        if (entry.problem.collective == collectives::Collective::barrier) continue;
        low = std::min(low, entry.problem.bytes());
        high = std::max(high, entry.problem.bytes());
    }
    const std::string sizes = high == 0 ? "" : fmt::format(" -b {} -e {}", core::compact_bytes(low), core::compact_bytes(high));
    return fmt::format("; to tune: attune-tune {} -n {}{} -d {} -o {} --in-place {}", fmt::join(names, " "), first.ranks, sizes, core::name_of(first.dtype),
                       core::name_of(first.op), first.in_place ? "yes" : "no");
}

}  // namespace

CallStatistics sum_of(const std::vector<CallStatistics>& parts) {
    CallStatistics sum;
    for (const CallStatistics& part : parts) {
        sum.calls += part.calls;
        sum.exact += part.exact;
        sum.interval += part.interval;
        sum.none += part.none;
        sum.forced += part.forced;
        sum.costliest_on_default.insert(sum.costliest_on_default.end(), part.costliest_on_default.begin(), part.costliest_on_default.end());
    }
    constexpr std::size_t shown = 3;
    std::ranges::stable_sort(sum.costliest_on_default, std::ranges::greater{}, &ProblemTime::total_us);
    if (sum.costliest_on_default.size() > shown) sum.costliest_on_default.resize(shown);
    return sum;
}

std::string summarize(const CallStatistics& statistics) {
    std::string text = shares(statistics);
    const std::vector<ProblemTime>& costliest = statistics.costliest_on_default;
    if (costliest.empty()) return text;
    std::vector<std::string> parts;
    for (const ProblemTime& entry : costliest)
        parts.push_back(describe(entry));
    return text + fmt::format("; costliest on the default: {}{}", fmt::join(parts, ", "), command_for(costliest));
}

}  // namespace attune::detail
