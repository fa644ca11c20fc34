#include "profiler/breakdown.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace attune::profiler {

namespace {

template <class Number>
Number median(std::vector<Number> values) {
    if (values.empty()) return {};
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

template <class Visit>
void for_each_event(const RankTrace& trace, Visit visit) {
    for (const TeamEvents& team : trace.teams) {
        for (const Event& event : team.events)
            visit(team, event);
    }
}

bool is_users_call(const Event& event) {
    return event.kind == core::TraceKind::call && event.call != 0;
}

// "all_reduce 1024 float32 sum, algorithm=ring,..." is what is called, and how.
std::pair<std::string, std::string> parts_of(const std::string& text) {
    const std::size_t comma = text.find(", ");
    if (comma == std::string::npos) return {text, ""};
    return {text.substr(0, comma), text.substr(comma + 2)};
}

// When each rank of a communicator started one call.
struct Arrival {
    int rank;  // of the job
    std::int64_t ns;
};
using CallId = std::pair<std::uint64_t, std::uint32_t>;  // communicator, number

std::map<CallId, std::vector<Arrival>> arrivals_of(std::span<const RankTrace> traces) {
    std::map<CallId, std::vector<Arrival>> arrivals;
    std::map<std::uint64_t, std::size_t> sizes;
    for (const RankTrace& trace : traces) {
        for_each_event(trace, [&](const TeamEvents& team, const Event& event) {
            if (!is_users_call(event)) return;
            arrivals[{team.source.team, event.call}].push_back({trace.rank, event.begin_ns});
            sizes[team.source.team] = team.source.ranks;
        });
    }
    std::erase_if(arrivals, [&](const auto& entry) { return entry.second.size() < 2 || entry.second.size() != sizes[entry.first.first]; });
    return arrivals;
}

std::int64_t spread_of(const std::vector<Arrival>& arrivals) {
    const auto [first, last] = std::ranges::minmax(arrivals, {}, &Arrival::ns);
    return last.ns - first.ns;
}

std::int64_t delay_of(const std::vector<Arrival>& arrivals, const Arrival& one) {
    std::vector<std::int64_t> others;
    for (const Arrival& other : arrivals) {
        if (&other != &one) others.push_back(other.ns);
    }
    return one.ns - median(std::move(others));
}

}  // namespace

std::vector<RankTime> times_of(std::span<const RankTrace> traces) {
    std::vector<RankTime> times;
    for (const RankTrace& trace : traces) {
        RankTime time;
        time.rank = trace.rank;
        std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = std::numeric_limits<std::int64_t>::min();
        for_each_event(trace, [&](const TeamEvents&, const Event& event) {
            first = std::min(first, event.begin_ns);
            last = std::max(last, event.end_ns);
            time.ns[static_cast<std::size_t>(event.kind)] += event.end_ns - event.begin_ns;
            if (is_users_call(event)) ++time.calls;
            if (event.kind == core::TraceKind::transfer || event.kind == core::TraceKind::reduce) time.bytes_moved += event.bytes;
        });
        if (last > first) time.span_ns = last - first;
        times.push_back(time);
    }
    std::ranges::stable_sort(times, {}, &RankTime::rank);
    return times;
}

std::vector<CallTime> calls_of(std::span<const RankTrace> traces) {
    struct Found {
        CallTime time;
        std::vector<std::int64_t> durations;
        std::map<int, std::uint64_t> by_rank;
    };
    std::map<std::string, Found> found;
    for (const RankTrace& trace : traces) {
        for_each_event(trace, [&](const TeamEvents&, const Event& event) {
            if (!is_users_call(event)) return;
            const auto [text, config] = parts_of(trace.texts[event.text]);
            Found& entry = found[text];
            if (entry.durations.empty()) entry.time = {text, config, 0, event.bytes, 0, 0, 0};
            entry.durations.push_back(event.end_ns - event.begin_ns);
            entry.time.total_ns += entry.durations.back();
            entry.time.calls = std::max(entry.time.calls, ++entry.by_rank[trace.rank]);
        });
    }
    std::vector<CallTime> calls;
    for (auto& [text, entry] : found) {
        entry.time.longest_ns = std::ranges::max(entry.durations);
        entry.time.median_ns = median(std::move(entry.durations));
        calls.push_back(std::move(entry.time));
    }
    std::ranges::stable_sort(calls, std::ranges::greater{}, &CallTime::total_ns);
    return calls;
}

std::vector<LateRank> late_ranks(std::span<const RankTrace> traces) {
    constexpr std::int64_t least_delay_ns = 50'000, usual_spreads = 10;
    const auto arrivals = arrivals_of(traces);
    std::vector<std::int64_t> spreads;
    for (const auto& [id, ranks] : arrivals)
        spreads.push_back(spread_of(ranks));
    const std::int64_t limit = std::max(least_delay_ns, usual_spreads * median(std::move(spreads)));
    std::map<int, std::pair<std::uint64_t, std::vector<std::int64_t>>> found;  // calls, delays of late ones
    for (const auto& [id, ranks] : arrivals) {
        for (const Arrival& one : ranks) {
            auto& [calls, delays] = found[one.rank];
            ++calls;
            const std::int64_t delay = delay_of(ranks, one);
            if (delay > limit) delays.push_back(delay);
        }
    }
    std::vector<LateRank> late;
    for (auto& [rank, entry] : found) {
        auto& [calls, delays] = entry;
        if (delays.size() < 2) continue;
        const auto times = static_cast<std::uint64_t>(delays.size());
        const std::int64_t longest = std::ranges::max(delays);
        late.push_back({rank, calls, times, median(std::move(delays)), longest});
    }
    std::ranges::stable_sort(late, std::ranges::greater{}, &LateRank::late);
    return late;
}

}  // namespace attune::profiler
