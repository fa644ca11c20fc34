#include "libcore/trace_words.hpp"

namespace attune::core {

namespace {

WordForm form_of(std::uint64_t word) noexcept {
    return static_cast<WordForm>(word & 3);
}

StepRecord record_of(const StepWord& word, const TraceBase& before) noexcept {
    StepRecord record;
    record.begin = before.end;
    record.end = before.end + word.ticks;
    record.bytes = word.bytes;
    record.kind = word.kind;
    record.channel = word.channel;
    record.call = before.call + static_cast<std::uint32_t>(word.call);
    record.subject = static_cast<std::int32_t>(word.subject);
    return record;
}

StepRecord record_of(const CallWord& word, const TraceBase& before) noexcept {
    StepRecord record;
    record.begin = before.end - word.ticks;
    record.end = before.end;
    record.bytes = word.bytes;
    record.kind = static_cast<std::uint64_t>(TraceKind::call);
    record.call = before.call + static_cast<std::uint32_t>(word.call);
    record.subject = static_cast<std::int32_t>(word.subject);
    return record;
}

}  // namespace

std::optional<StepRecord> unpack(std::span<const std::uint64_t>& words, TraceBase before) noexcept {
    while (!words.empty() && form_of(words.front()) == WordForm::pause) {
        before.end += std::bit_cast<PauseWord>(words.front()).ticks;
        words = words.subspan(1);
    }
    if (words.empty()) return {};
    const std::uint64_t word = words.front();
    words = words.subspan(1);
    if (form_of(word) == WordForm::step) return record_of(std::bit_cast<StepWord>(word), before);
    if (form_of(word) == WordForm::call) return record_of(std::bit_cast<CallWord>(word), before);
    if (words.size() < record_words) return {};
    std::array<std::uint64_t, record_words> whole{};
    std::ranges::copy(words.first(record_words), whole.begin());
    words = words.subspan(record_words);
    return std::bit_cast<StepRecord>(whole);
}

}  // namespace attune::core
