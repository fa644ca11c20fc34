#include "profiler/perfetto.hpp"

#include "libcore/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>

namespace attune::profiler {

namespace {

// Tracks of a rank: its calls (up to four in flight overlap, so each has a line), waits, then a line per channel.
constexpr int calls_in_flight = 4, wait_track = 10, first_channel_track = 20;

int track_of(const Event& event) {
    if (event.kind == core::TraceKind::call) return static_cast<int>(event.call % calls_in_flight);
    if (event.kind == core::TraceKind::wait) return wait_track;
    return first_channel_track + event.channel;
}

std::int64_t first_moment(std::span<const RankTrace> traces) {
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    for (const RankTrace& trace : traces) {
        for (const TeamEvents& team : trace.teams) {
            for (const Event& event : team.events)
                first = std::min(first, event.begin_ns);
        }
    }
    return first;
}

void append_event(std::string& out, const RankTrace& trace, const Event& event, std::int64_t origin) {
    const bool call = event.kind == core::TraceKind::call;
    const std::string& text = trace.texts[event.text];
    const std::string name = call ? text.substr(0, text.find(", ")) : std::string(name_of(event.kind));
    fmt::format_to(std::back_inserter(out), ",\n{{\"name\":{},\"cat\":\"{}\",\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{:.3f},\"dur\":{:.3f}",
                   core::json_quoted(name), name_of(event.kind), trace.rank, track_of(event), static_cast<double>(event.begin_ns - origin) / 1e3,
                   static_cast<double>(event.end_ns - event.begin_ns) / 1e3);
    fmt::format_to(std::back_inserter(out), ",\"args\":{{\"call\":{},\"bytes\":{}", event.call, event.bytes);
    if (event.peer >= 0) fmt::format_to(std::back_inserter(out), ",\"peer\":{}", event.peer);
    if (call) out += ",\"text\":" + core::json_quoted(text);
    out += "}}";
}

void append_name(std::string& out, const char* what, int rank, int track, const std::string& name) {
    fmt::format_to(std::back_inserter(out), "\n{{\"name\":\"{}\",\"ph\":\"M\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":{}}}}}", what, rank, track,
                   core::json_quoted(name));
}

void append_names(std::string& out, const RankTrace& trace, bool first) {
    if (!first) out += ',';
    append_name(out, "process_name", trace.rank, 0, fmt::format("rank {} (process {})", trace.rank, trace.process));
    out += ',';
    append_name(out, "thread_name", trace.rank, wait_track, "waiting");
    for (int channel = 0; channel < 4; ++channel) {
        out += ',';
        append_name(out, "thread_name", trace.rank, first_channel_track + channel, fmt::format("channel {}", channel));
    }
}

}  // namespace

void write_perfetto(std::span<const RankTrace> traces, const std::function<void(std::string_view)>& write) {
    constexpr std::size_t piece = 1U << 20;
    std::string out = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
    const std::int64_t origin = first_moment(traces);
    bool first = true;
    for (const RankTrace& trace : traces) {
        append_names(out, trace, first);
        first = false;
        for (const TeamEvents& team : trace.teams) {
            for (const Event& event : team.events) {
                append_event(out, trace, event, origin);
                if (out.size() < piece) continue;
                write(out);
                out.clear();
            }
        }
    }
    write(out + "\n]}\n");
}

std::string perfetto_json(std::span<const RankTrace> traces) {
    std::string text;
    write_perfetto(traces, [&](std::string_view piece) { text += piece; });
    return text;
}

}  // namespace attune::profiler
