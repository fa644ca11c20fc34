#include "profiler/breakdown.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <map>
#include <tuple>
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

// Damaged traces may hold times whose sum no integer holds; then it is wrong, but defined.
void add_to(std::int64_t& sum, std::int64_t ns) {
    sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(ns));
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

// When a rank of a communicator started a call.
struct Arrival {
    std::uint64_t team = 0;
    std::uint32_t call = 0;
    int rank = 0;  // of the job
    std::int64_t ns = 0;
};
using Arrivals = std::span<const Arrival>;

// Call by call, in each the first to arrive first.
std::vector<Arrival> arrivals_of(std::span<const RankTrace> traces) {
    std::vector<Arrival> arrivals;
    for (const RankTrace& trace : traces) {
        for_each_event(trace, [&](const TeamEvents& team, const Event& event) {
            if (is_users_call(event) && team.source.ranks > 1) arrivals.push_back({team.source.team, event.call, trace.rank, event.begin_ns});
        });
    }
    std::ranges::sort(arrivals, {}, [](const Arrival& one) { return std::tuple(one.team, one.call, one.ns); });
    return arrivals;
}

std::map<std::uint64_t, std::size_t> sizes_of_teams(std::span<const RankTrace> traces) {
    std::map<std::uint64_t, std::size_t> sizes;
    for (const RankTrace& trace : traces) {
        for (const TeamEvents& team : trace.teams)
            sizes[team.source.team] = team.source.ranks;
    }
    return sizes;
}

// Visits the arrivals of each call that all ranks of its communicator made.
template <class Visit>
void for_each_whole_call(Arrivals arrivals, const std::map<std::uint64_t, std::size_t>& sizes, Visit visit) {
    while (!arrivals.empty()) {
        const Arrival& first = arrivals.front();
        const auto other = std::ranges::find_if(arrivals, [&](const Arrival& one) { return one.team != first.team || one.call != first.call; });
        const auto count = static_cast<std::size_t>(other - arrivals.begin());
        if (count == sizes.at(first.team)) visit(arrivals.first(count));
        arrivals = arrivals.subspan(count);
    }
}

// What a rank was late by, after the median of the others; negative = early. `call` counts calls.
struct Delay {
    std::size_t call = 0;
    int rank = 0;
    std::int64_t ns = 0;
};

std::vector<Delay> delays_of(std::span<const RankTrace> traces) {
    std::vector<Delay> delays;
    const std::vector<Arrival> arrivals = arrivals_of(traces);
    std::size_t calls = 0;
    for_each_whole_call(arrivals, sizes_of_teams(traces), [&](Arrivals ranks) {
        const std::size_t middle = (ranks.size() - 1) / 2;  // of the others, who are in order
        for (std::size_t at = 0; at < ranks.size(); ++at)
            delays.push_back({calls, ranks[at].rank, ranks[at].ns - ranks[at <= middle ? middle + 1 : middle].ns});
        ++calls;
    });
    return delays;
}

using ByRank = std::map<int, std::vector<std::int64_t>>;
ByRank by_rank(std::span<const Delay> delays) {
    ByRank ranks;
    for (const Delay& delay : delays)
        ranks[delay.rank].push_back(delay.ns);
    return ranks;
}

// The median; of an even number the one of the two in the middle that is nearer to 0, so that being late to just half of the calls is not usual.
std::int64_t usual_of(std::vector<std::int64_t> late_by) {
    const auto upper = late_by.begin() + static_cast<std::ptrdiff_t>(late_by.size() / 2);
    std::ranges::nth_element(late_by, upper);
    if (late_by.size() % 2 == 1) return *upper;
    const std::int64_t lower = *std::max_element(late_by.begin(), upper);
    return std::abs(lower) < std::abs(*upper) ? lower : *upper;
}

// How far ranks usually are from their own median delay: neither a rank that is late to every call nor clocks that are apart count. The lower quartile,
// because a rank may be late to half of its calls.
std::int64_t usual_variation(std::span<const Delay> delays, const ByRank& ranks) {
    if (delays.empty()) return 0;
    std::map<int, std::int64_t> usual;
    for (const auto& [rank, late_by] : ranks)
        usual[rank] = usual_of(late_by);
    std::vector<std::int64_t> widest(delays.back().call + 1);
    for (const Delay& delay : delays)
        widest[delay.call] = std::max(widest[delay.call], std::abs(delay.ns - usual[delay.rank]));
    const auto quartile = widest.begin() + static_cast<std::ptrdiff_t>(widest.size() / 4);
    std::ranges::nth_element(widest, quartile);
    return std::min(*quartile, std::int64_t{1} << 56);  // of a damaged trace
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
            add_to(time.ns[static_cast<std::size_t>(event.kind)], event.end_ns - event.begin_ns);
            if (is_users_call(event)) ++time.calls;
            if (event.kind == core::TraceKind::transfer || event.kind == core::TraceKind::reduce) time.bytes_moved += event.bytes;
        });
        if (last > first) time.span_ns = last - first;
        time.events = trace.records;
        time.clock_error_ns = trace.clock_error_ns;
        time.ends_early = trace.ends_early;
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
        std::vector<std::pair<Found*, std::uint64_t>> of_text(trace.texts.size());  // with the calls of this rank
        for_each_event(trace, [&](const TeamEvents&, const Event& event) {
            if (!is_users_call(event)) return;
            auto& [entry, calls] = of_text[event.text];
            if (entry == nullptr) {
                const auto [text, config] = parts_of(trace.texts[event.text]);
                entry = &found[text];
                if (entry->durations.empty()) entry->time = {text, config, 0, event.bytes, 0, 0, 0};
            }
            entry->durations.push_back(event.end_ns - event.begin_ns);
            add_to(entry->time.total_ns, entry->durations.back());
            ++calls;
        });
        for (const auto& [entry, calls] : of_text) {
            if (entry != nullptr) entry->by_rank[trace.rank] += calls;
        }
    }
    std::vector<CallTime> calls;
    for (auto& [text, entry] : found) {
        entry.time.longest_ns = std::ranges::max(entry.durations);
        entry.time.median_ns = median(std::move(entry.durations));
        for (const auto& [rank, count] : entry.by_rank)
            entry.time.calls = std::max(entry.time.calls, count);
        calls.push_back(std::move(entry.time));
    }
    std::ranges::stable_sort(calls, std::ranges::greater{}, &CallTime::total_ns);
    return calls;
}

std::vector<LateRank> late_ranks(std::span<const RankTrace> traces) {
    constexpr std::int64_t least_delay_ns = 50'000, usual_variations = 10;
    constexpr std::uint64_t least_share = 10;
    std::int64_t clock_error = 0;
    for (const RankTrace& trace : traces)
        clock_error = std::max(clock_error, trace.clock_error_ns);
    const std::vector<Delay> delays = delays_of(traces);
    const ByRank ranks = by_rank(delays);
    const std::int64_t limit = std::max(least_delay_ns, usual_variations * usual_variation(delays, ranks)) + 2 * clock_error;
    std::vector<LateRank> late;
    for (const auto& [rank, late_by] : ranks) {
        std::vector<std::int64_t> far;
        std::ranges::copy_if(late_by, std::back_inserter(far), [&](std::int64_t delay) { return delay > limit; });
        if (far.size() < 2) continue;
        const std::int64_t longest = std::ranges::max(far);
        late.push_back({rank, late_by.size(), far.size(), median(std::move(far)), longest});
    }
    std::ranges::stable_sort(late, std::ranges::greater{}, &LateRank::late);
    if (!late.empty()) std::erase_if(late, [most = late.front().late](const LateRank& one) { return one.late * least_share < most; });
    return late;
}

}  // namespace attune::profiler
