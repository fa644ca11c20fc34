// How files of step traces hold records: in words of 8 bytes, for what an event costs is mostly the writing of its bytes. Most records take one.
#pragma once

#include "libcore/trace_format.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace attune::core {

// What the next record of a block is told from: the one before it, at first nothing.
struct TraceBase {
    std::uint64_t end = 0;
    std::uint32_t call = 0;
};

enum class WordForm : std::uint64_t {
    step,    // begins where the record before ended
    call,    // ends where the record before ended
    pause,   // only time passes; a record follows
    record,  // the next four words are the record
};
struct StepWord {
    std::uint64_t form : 2 = static_cast<std::uint64_t>(WordForm::step);
    std::uint64_t kind : 3 = 0;
    std::uint64_t channel : 3 = 0;
    std::uint64_t ticks : 20 = 0;  // from begin to end
    std::uint64_t bytes : 20 = 0;
    std::int64_t call : 4 = 0;  // minus that of the record before
    std::int64_t subject : 12 = 0;
};
struct CallWord {
    std::uint64_t form : 2 = static_cast<std::uint64_t>(WordForm::call);
    std::uint64_t ticks : 24 = 0;
    std::uint64_t bytes : 24 = 0;
    std::int64_t call : 4 = 0;
    std::int64_t subject : 10 = 0;
};
struct PauseWord {
    std::uint64_t form : 2 = static_cast<std::uint64_t>(WordForm::pause);
    std::uint64_t ticks : 62 = 0;
};
static_assert(sizeof(StepWord) == 8 && sizeof(CallWord) == 8 && sizeof(PauseWord) == 8);
static_assert(trace_kinds <= 8);
inline constexpr std::size_t record_words = sizeof(StepRecord) / 8;
inline constexpr std::size_t most_words = 1 + record_words;  // of one record

// Whether a number, or the difference of two, is one of `bits` bits with a sign.
constexpr bool fits_signed(std::uint32_t number, int bits) noexcept {
    return ((number + (1U << (bits - 1))) >> bits) == 0;
}

// Writes a record to `words`, at least most_words of them, and returns how many it took.
inline std::size_t pack(const StepRecord& record, const TraceBase& before, std::uint64_t* words) noexcept {
    const std::uint64_t lasted = record.end - record.begin;
    const std::uint32_t call = record.call - before.call;
    const auto subject = static_cast<std::uint32_t>(record.subject);
    const bool is_call = record.kind == static_cast<std::uint64_t>(TraceKind::call);
    if (is_call && record.end == before.end && ((lasted | record.bytes) >> 24) == 0 && fits_signed(call, 4) && fits_signed(subject, 10) &&
        record.channel == 0) {
        CallWord word;
        word.ticks = lasted;
        word.bytes = record.bytes;
        word.call = static_cast<std::int32_t>(call);
        word.subject = record.subject;
        words[0] = std::bit_cast<std::uint64_t>(word);
        return 1;
    }
    const std::uint64_t paused = record.begin - before.end;
    const bool small = ((lasted | record.bytes) >> 20) == 0 && (record.channel | record.kind) < 8 && fits_signed(call, 4) && fits_signed(subject, 12);
    if (small && (paused >> 62) == 0) {
        PauseWord pause;
        pause.ticks = paused;
        StepWord word;
        word.kind = record.kind;
        word.channel = record.channel;
        word.ticks = lasted;
        word.bytes = record.bytes;
        word.call = static_cast<std::int32_t>(call);
        word.subject = record.subject;
        const std::size_t place = paused == 0 ? 0 : 1;
        words[0] = std::bit_cast<std::uint64_t>(pause);
        words[place] = std::bit_cast<std::uint64_t>(word);
        return place + 1;
    }
    words[0] = static_cast<std::uint64_t>(WordForm::record);
    std::ranges::copy(std::bit_cast<std::array<std::uint64_t, record_words>>(record), words + 1);
    return most_words;
}

// Takes one record off the front of `words`; none when the words end in it.
std::optional<StepRecord> unpack(std::span<const std::uint64_t>& words, TraceBase before) noexcept;

}  // namespace attune::core
