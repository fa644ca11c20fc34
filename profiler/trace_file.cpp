#include "profiler/trace_file.hpp"

#include "libcore/error.hpp"
#include "libcore/file.hpp"
#include "libcore/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace attune::profiler {

namespace {

using core::StepRecord;
using core::TraceBlock;

constexpr std::uint64_t largest_file = std::uint64_t{8} << 30;

class Parser {
public:
    Parser(std::span<const std::byte> bytes, const std::string& file) : rest_(bytes) { trace_.file = file; }

    RankTrace run() {
        read_header();
        trace_.texts.emplace_back();
        while (!ended_)
            read_block();
        if (!rest_.empty()) refuse("has bytes after its end");
        if (seen_ != trace_.records) refuse(fmt::format("says it has {} records, but has {}", trace_.records, seen_));
        to_nanoseconds();
        return std::move(trace_);
    }

private:
    [[noreturn]] void refuse(const std::string& why) const {
        throw core::Error(core::ErrorCode::check_failed, fmt::format("'{}' {}", core::printable(trace_.file, 4096), why));
    }

    template <class Thing>
    Thing take(const char* what) {
        if (rest_.size() < sizeof(Thing)) refuse(fmt::format("ends in the middle of {}: it was cut short, or its rank did not end by itself", what));
        Thing thing;
        std::memcpy(&thing, rest_.data(), sizeof(thing));
        rest_ = rest_.subspan(sizeof(thing));
        return thing;
    }

    void read_header() {
        if (rest_.size() < sizeof(core::trace_magic) || std::memcmp(rest_.data(), core::trace_magic.data(), sizeof(core::trace_magic)) != 0)
            refuse("is no trace of attune; name files of a folder that attune-profile run made");
        const auto header = take<core::TraceFileHeader>("its header");
        if (header.version != core::trace_version || header.record_bytes != sizeof(StepRecord))
            refuse(fmt::format("has trace format {}, this version reads {}", header.version, core::trace_version));
        trace_.rank = static_cast<int>(header.rank);
        trace_.process = static_cast<int>(header.process);
        start_ = header.start;
    }

    void read_block() {
        const auto header = take<core::TraceBlockHeader>("a block");
        if (header.magic != core::trace_block_magic) refuse("is damaged: a block does not begin where it should");
        if (header.bytes > rest_.size()) refuse("ends in the middle of a block: it was cut short, or its rank did not end by itself");
        const std::span<const std::byte> payload = rest_.first(header.bytes);
        switch (header.kind) {
            case TraceBlock::records:
                read_records(header.source, payload);
                break;
            case TraceBlock::text:
                read_text(payload);
                break;
            case TraceBlock::end:
                if (payload.size() != sizeof(core::TraceFileEnd)) refuse("is damaged: its end has another size");
                read_end(payload);
                break;
            default:
                refuse(fmt::format("is damaged: it has a block of kind {}", static_cast<std::uint32_t>(header.kind)));
        }
        rest_ = rest_.subspan(header.bytes);
    }

    TeamEvents& team_of(const core::StepSource& source) {
        const auto same = [&](const TeamEvents& team) { return team.source.team == source.team && team.source.rank == source.rank; };
        const auto found = std::ranges::find_if(trace_.teams, same);
        if (found != trace_.teams.end()) return *found;
        return trace_.teams.emplace_back(TeamEvents{source, {}});
    }

    // Ticks stand in the places of nanoseconds until both ends of the file are known.
    void read_records(const core::StepSource& source, std::span<const std::byte> payload) {
        if (payload.size() % sizeof(StepRecord) != 0) refuse("is damaged: a record is cut");
        if (source.rank >= source.ranks) refuse(fmt::format("is damaged: it has rank {} of {}", source.rank, source.ranks));
        std::vector<Event>& events = team_of(source).events;
        for (std::size_t at = 0; at < payload.size(); at += sizeof(StepRecord)) {
            StepRecord record;
            std::memcpy(&record, payload.data() + at, sizeof(record));
            if (static_cast<std::size_t>(record.kind) >= core::trace_kinds || record.text >= trace_.texts.size()) refuse("is damaged: a record makes no sense");
            events.push_back({static_cast<std::int64_t>(record.begin), static_cast<std::int64_t>(record.end), record.bytes, record.call, record.text,
                              record.peer, record.kind, record.channel});
            ++seen_;
        }
    }

    void read_text(std::span<const std::byte> payload) {
        std::uint32_t number = 0;
        if (payload.size() < sizeof(number)) refuse("is damaged: a text has no number");
        std::memcpy(&number, payload.data(), sizeof(number));
        if (number != trace_.texts.size()) refuse("is damaged: its texts are not in order");
        trace_.texts.emplace_back(reinterpret_cast<const char*>(payload.data()) + sizeof(number), payload.size() - sizeof(number));
    }

    void read_end(std::span<const std::byte> payload) {
        core::TraceFileEnd end;
        std::memcpy(&end, payload.data(), sizeof(end));
        stop_ = end.stop;
        trace_.records = end.records;
        ended_ = true;
    }

    void to_nanoseconds() {
        const auto ticks = static_cast<double>(stop_.ticks - start_.ticks), ns = static_cast<double>(stop_.ns - start_.ns);
        if (stop_.ticks <= start_.ticks || stop_.ns <= start_.ns) refuse("is damaged: its clock stands still");
        const auto at = [&](std::int64_t moment) {
            const auto since = static_cast<std::int64_t>(static_cast<std::uint64_t>(moment) - start_.ticks);
            return start_.ns + std::llround(static_cast<double>(since) * (ns / ticks));
        };
        for (TeamEvents& team : trace_.teams) {
            for (Event& event : team.events) {
                event.begin_ns = at(event.begin_ns);
                event.end_ns = at(event.end_ns);
            }
        }
    }

    std::span<const std::byte> rest_;
    RankTrace trace_;
    core::ClockPair start_, stop_;
    std::uint64_t seen_ = 0;
    bool ended_ = false;
};

}  // namespace

RankTrace parse_trace(std::span<const std::byte> bytes, const std::string& file) {
    return Parser(bytes, file).run();
}

RankTrace read_trace(const std::string& file) {
    return parse_trace(core::read_whole_file(file, {.limit_bytes = largest_file}), file);
}

}  // namespace attune::profiler
