#include "apps/tools/profile/show.hpp"

#include "apps/tools/support/table.hpp"
#include "libcore/units.hpp"
#include "profiler/attendance.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace attune::tools::profile {

namespace {

using core::TraceKind;

std::int64_t of(const profiler::RankTime& time, TraceKind kind) {
    return time.ns[static_cast<std::size_t>(kind)];
}

std::string milliseconds(std::int64_t ns) {
    return fmt::format("{:.3f}", static_cast<double>(ns) / 1e6);
}

std::string microseconds(std::int64_t ns) {
    return fmt::format("{:.2f}", static_cast<double>(ns) / 1e3);
}

double us(std::int64_t ns) {
    return static_cast<double>(ns) / 1e3;
}

std::string rank_table(const Report& report) {
    Table table({{"rank"}, {"calls"}, {"span ms"}, {"in calls"}, {"wait"}, {"post"}, {"transfer"}, {"reduce"}, {"moved"}});
    for (const profiler::RankTime& time : report.ranks) {
        std::vector<std::string> cells = {std::to_string(time.rank), std::to_string(time.calls), milliseconds(time.span_ns)};
        for (const TraceKind kind : {TraceKind::call, TraceKind::wait, TraceKind::post, TraceKind::transfer, TraceKind::reduce}) {
            const double share = time.span_ns == 0 ? 0 : 100.0 * static_cast<double>(of(time, kind)) / static_cast<double>(time.span_ns);
            cells.push_back(fmt::format("{} ({:.0f}%)", milliseconds(of(time, kind)), share));
        }
        cells.push_back(core::format_bytes(time.bytes_moved));
        table.add_row(std::move(cells));
    }
    return table.text();
}

std::string call_table(const Report& report) {
    Table table({{"call", Align::left}, {"calls"}, {"bytes"}, {"median us"}, {"longest us"}, {"total ms"}, {"configuration", Align::left}});
    for (const profiler::CallTime& call : report.calls)
        table.add_row({call.text, std::to_string(call.calls), core::format_bytes(call.bytes), microseconds(call.median_ns), microseconds(call.longest_ns),
                       milliseconds(call.total_ns), call.config});
    return table.text();
}

std::string late_text(const Report& report) {
    if (report.late.empty())
        return report.missing.empty() ? "No rank is late more often than by chance.\n" : "No rank with a trace is late more often than by chance.\n";
    std::string text;
    for (const profiler::LateRank& late : report.late)
        text += fmt::format("Rank {} is late to {} of {} calls ({:.1f} %): median delay {} us, longest {} us.\n", late.rank, late.late, late.calls,
                            100.0 * static_cast<double>(late.late) / static_cast<double>(late.calls), microseconds(late.median_delay_ns),
                            microseconds(late.longest_delay_ns));
    return text;
}

std::string notes(const Report& report) {
    std::string text;
    std::int64_t clock_error = 0;
    for (const profiler::RankTime& time : report.ranks) {
        clock_error = std::max(clock_error, time.clock_error_ns);
        if (!time.ends_early.empty()) text += fmt::format("The trace of rank {} ends early, after {} events: {}.\n", time.rank, time.events, time.ends_early);
    }
    if (!report.missing.empty()) text += fmt::format("There is no trace of rank {}: what it did is not in these figures.\n", fmt::join(report.missing, ", "));
    if (clock_error > 0) text += fmt::format("The clocks of other nodes were compared at the start, to within {} us.\n", microseconds(clock_error));
    return text;
}

}  // namespace

Report report_of(std::span<const profiler::RankTrace> traces) {
    profiler::require_one_job(traces);
    return {profiler::times_of(traces), profiler::calls_of(traces), profiler::late_ranks(traces), profiler::missing_ranks(traces)};
}

std::string report_text(const Report& report) {
    return rank_table(report) + "\n" + call_table(report) + "\n" + late_text(report) + notes(report);
}

Json report_json(const Report& report) {
    Json document = json_document("attune.profile/1");
    document["ranks"] = Json::array();
    for (const profiler::RankTime& time : report.ranks) {
        document["ranks"].push_back({{"rank", time.rank},
                                     {"calls", time.calls},
                                     {"span_us", us(time.span_ns)},
                                     {"in_calls_us", us(of(time, TraceKind::call))},
                                     {"wait_us", us(of(time, TraceKind::wait))},
                                     {"post_us", us(of(time, TraceKind::post))},
                                     {"transfer_us", us(of(time, TraceKind::transfer))},
                                     {"reduce_us", us(of(time, TraceKind::reduce))},
                                     {"bytes_moved", time.bytes_moved},
                                     {"events", time.events},
                                     {"complete", time.ends_early.empty()},
                                     {"clock_error_us", us(time.clock_error_ns)}});
    }
    document["calls"] = Json::array();
    for (const profiler::CallTime& call : report.calls) {
        document["calls"].push_back({{"call", call.text},
                                     {"config", call.config},
                                     {"calls", call.calls},
                                     {"bytes", call.bytes},
                                     {"median_us", us(call.median_ns)},
                                     {"longest_us", us(call.longest_ns)},
                                     {"total_us", us(call.total_ns)}});
    }
    document["late"] = Json::array();
    for (const profiler::LateRank& late : report.late) {
        document["late"].push_back({{"rank", late.rank},
                                    {"calls", late.calls},
                                    {"late", late.late},
                                    {"median_delay_us", us(late.median_delay_ns)},
                                    {"longest_delay_us", us(late.longest_delay_ns)}});
    }
    document["missing"] = report.missing;
    return document;
}

}  // namespace attune::tools::profile
