#include "profiler/trace_file.hpp"

#include "libcore/error.hpp"
#include "libcore/file.hpp"
#include "libcore/text.hpp"
#include "libcore/trace_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

namespace attune::profiler {

namespace {

using core::StepRecord;
using core::TraceBlock;
using core::TraceBlockHeader;
using core::TraceKind;
using core::TraceState;
using Bytes = std::span<const std::byte>;

constexpr std::uint64_t largest_file = std::uint64_t{8} << 30;
constexpr std::uint64_t most_ticks = std::uint64_t{1} << 62;
constexpr std::int64_t largest_moment_ns = std::int64_t{1} << 58;  // nine years; differences of sums of three fit

// The words that a process had not yet written when it ended.
struct Stage {
    TraceBlockHeader header;
    Bytes words;
};

class Parser {
public:
    Parser(Bytes bytes, const std::string& file) : rest_(bytes) { trace_.file = file; }

    RankTrace run() {
        read_header();
        trace_.texts.emplace_back();
        while (!rest_.empty() && read_block()) {
        }
        for (const Stage& stage : stages_)
            read_stage(stage);
        std::uint64_t words = 0;
        for (const std::uint64_t some : words_)
            words += some;
        for (const TeamEvents& team : trace_.teams)
            trace_.records += team.events.size();
        if (whole() && words != header_.words) refuse(fmt::format("says it has {} words, but has {}; it was cut short or damaged", header_.words, words));
        to_nanoseconds();
        return std::move(trace_);
    }

private:
    [[noreturn]] void refuse(const std::string& why) const {
        throw core::Error(core::ErrorCode::check_failed, fmt::format("'{}' {}", core::printable(trace_.file, 4096), why));
    }
    bool whole() const noexcept { return header_.state == TraceState::closed; }

    template <class Thing>
    static Thing take(Bytes& bytes) noexcept {
        Thing thing;
        std::memcpy(&thing, bytes.data(), sizeof(thing));
        bytes = bytes.subspan(sizeof(thing));
        return thing;
    }

    void read_header() {
        if (rest_.size() < sizeof(core::trace_magic) || std::memcmp(rest_.data(), core::trace_magic.data(), sizeof(core::trace_magic)) != 0)
            refuse("is no trace of attune; name files of a folder that attune-profile run made");
        if (rest_.size() < core::trace_header_bytes) refuse("ends in the middle of its header: it was cut short");
        Bytes page = rest_.first(core::trace_header_bytes);
        rest_ = rest_.subspan(core::trace_header_bytes);
        header_ = take<core::TraceFileHeader>(page);
        if (header_.version != core::trace_version || header_.word_bytes != sizeof(std::uint64_t))
            refuse(fmt::format("has trace format {} with words of {} bytes, this version reads {} with {}", header_.version, header_.word_bytes,
                               core::trace_version, sizeof(std::uint64_t)));
        if (header_.state > TraceState::cut) refuse(fmt::format("is damaged: its state is {}", static_cast<std::uint32_t>(header_.state)));
        if (whole() && header_.digest != core::digest_of(header_)) refuse("is damaged: its header has another digest than it says");
        trace_.rank = static_cast<int>(header_.rank);
        trace_.process = static_cast<int>(header_.process);
        if (trace_.rank < 0) refuse("is damaged: its rank makes no sense");
        if (header_.state == TraceState::open) trace_.ends_early = "its process was killed, left without closing its communicators, or still runs";
        if (header_.state == TraceState::cut) trace_.ends_early = "the rest could not be written: the disk was full";
    }

    // False at the end of a file that is not whole.
    bool read_block() {
        if (rest_.size() < sizeof(TraceBlockHeader)) return end_of_file();
        const auto header = take<TraceBlockHeader>(rest_);
        if (header.magic != core::trace_block_magic) refuse("is damaged: a block does not begin where it should");
        const bool cut = header.bytes > rest_.size();
        if (cut) end_of_file();
        const Bytes payload = rest_.first(cut ? rest_.size() : header.bytes);
        rest_ = rest_.subspan(payload.size());
        if (!cut && header.kind != TraceBlock::stage && header.digest != core::digest_of(header, payload))
            refuse("is damaged: a block has another digest than it says");
        switch (header.kind) {
            case TraceBlock::records:
                add_records(header.source, payload, 0);
                break;
            case TraceBlock::text:
                if (!cut) read_text(payload);
                break;
            case TraceBlock::stage:
                stages_.push_back({header, payload});
                break;
            case TraceBlock::padding:
                break;
            default:
                refuse(fmt::format("is damaged: it has a block of kind {}", static_cast<std::uint32_t>(header.kind)));
        }
        return !cut;
    }
    bool end_of_file() const {
        if (whole()) refuse("ends in the middle of a block: it was cut short");
        return false;
    }

    // By index.
    std::size_t team_of(const core::StepSource& source) {
        if (source.rank >= source.ranks) refuse(fmt::format("is damaged: it has rank {} of {}", source.rank, source.ranks));
        const auto same = [&](const TeamEvents& team) { return team.source.team == source.team && team.source.rank == source.rank; };
        const auto found = std::ranges::find_if(trace_.teams, same);
        if (found != trace_.teams.end()) return static_cast<std::size_t>(found - trace_.teams.begin());
        trace_.teams.push_back({source, {}});
        words_.push_back(0);
        return words_.size() - 1;
    }

    // Ticks stand in the places of nanoseconds until all blocks are read.
    std::optional<Event> event_of(const StepRecord& record) const {
        const auto kind = static_cast<TraceKind>(record.kind);
        const bool call = kind == TraceKind::call;
        if (record.kind >= core::trace_kinds || record.begin > record.end || record.begin < header_.start.ticks) return {};
        if (call && (record.subject < 0 || static_cast<std::size_t>(record.subject) >= trace_.texts.size())) return {};
        if (record.end - header_.start.ticks > most_ticks || (whole() && record.end > header_.latest.ticks)) return {};
        Event event;
        event.begin_ns = static_cast<std::int64_t>(record.begin - header_.start.ticks);
        event.end_ns = static_cast<std::int64_t>(record.end - header_.start.ticks);
        event.bytes = record.bytes;
        event.call = record.call;
        event.text = call ? static_cast<std::uint32_t>(record.subject) : 0;
        event.peer = call ? -1 : record.subject;
        event.kind = kind;
        event.channel = static_cast<std::uint8_t>(record.channel);
        return event;
    }

    // But for those of the first `skip` words. Records of a process that did not end by itself stop at the first that makes no sense.
    void add_records(const core::StepSource& source, Bytes payload, std::uint64_t skip) {
        if (whole() && payload.size() % sizeof(std::uint64_t) != 0) refuse("is damaged: a record is cut");
        std::vector<std::uint64_t> words(payload.size() / sizeof(std::uint64_t));
        if (!words.empty()) std::memcpy(words.data(), payload.data(), words.size() * sizeof(std::uint64_t));
        const std::size_t team = team_of(source);
        core::TraceBase before;
        for (std::span<const std::uint64_t> rest(words); !rest.empty();) {
            const std::size_t begin = words.size() - rest.size();
            const std::optional<StepRecord> record = core::unpack(rest, before);
            if (!record && whole()) refuse("is damaged: a record is cut");
            if (!record) return;
            before = {record->end, record->call};
            if (begin < skip) continue;
            const std::optional<Event> event = event_of(*record);
            if (!event && whole()) refuse("is damaged: a record makes no sense");
            if (!event) return;
            trace_.teams[team].events.push_back(*event);
            words_[team] += words.size() - rest.size() - begin;
        }
    }

    // A process may be killed between writing its words and emptying the stage: those that are there already are left out.
    void read_stage(const Stage& stage) {
        const TraceBlockHeader& header = stage.header;
        if (header.count == 0) return;
        if (header.count > core::TraceStage::capacity) refuse(fmt::format("is damaged: a stage has {} words", header.count));
        const std::uint64_t there = words_[team_of(header.source)];
        const Bytes words = stage.words.first(std::min<std::uint64_t>(stage.words.size(), header.count * sizeof(std::uint64_t)));
        add_records(header.source, words, there > header.first ? std::min(there - header.first, header.count) : 0);
    }

    void read_text(Bytes payload) {
        if (payload.size() < sizeof(std::uint32_t)) refuse("is damaged: a text has no number");
        const auto number = take<std::uint32_t>(payload);
        if (number != trace_.texts.size()) refuse("is damaged: its texts are not in order");
        trace_.texts.emplace_back(reinterpret_cast<const char*>(payload.data()), payload.size());
    }

    void to_nanoseconds() {
        const core::ClockPair &start = header_.start, &latest = header_.latest;
        const bool sane = start.ns >= 0 && latest.ns < largest_moment_ns && std::abs(header_.clock_offset_ns / 2) < largest_moment_ns / 2 &&
                          header_.clock_error_ns >= 0 && header_.clock_error_ns < largest_moment_ns;
        if (!sane || latest.ticks < start.ticks || latest.ns < start.ns) refuse("is damaged: its clocks make no sense");
        trace_.clock_error_ns = header_.clock_error_ns;
        if (trace_.records == 0) return;
        if (latest.ticks == start.ticks || latest.ns == start.ns) refuse("is damaged: its clock stands still");
        const double tick_ns = static_cast<double>(latest.ns - start.ns) / static_cast<double>(latest.ticks - start.ticks);
        const std::int64_t origin = start.ns + header_.clock_offset_ns;
        const auto at = [&](std::int64_t ticks) {
            const double ns = static_cast<double>(ticks) * tick_ns;
            if (ns >= static_cast<double>(largest_moment_ns)) refuse("is damaged: a record is years long");
            return origin + std::llround(ns);
        };
        for (TeamEvents& team : trace_.teams) {
            for (Event& event : team.events) {
                event.begin_ns = at(event.begin_ns);
                event.end_ns = at(event.end_ns);
            }
        }
    }

    Bytes rest_;
    RankTrace trace_;
    core::TraceFileHeader header_;
    std::vector<Stage> stages_;
    std::vector<std::uint64_t> words_;  // by team
};

}  // namespace

RankTrace parse_trace(std::span<const std::byte> bytes, const std::string& file) {
    return Parser(bytes, file).run();
}

RankTrace read_trace(const std::string& file) {
    return parse_trace(core::read_whole_file(file, {.limit_bytes = largest_file}), file);
}

}  // namespace attune::profiler
