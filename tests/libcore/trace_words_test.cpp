#include "libcore/trace_words.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <span>

namespace attune::core {
namespace {

// Words taken by a record that follows `before`; it comes back as it was.
std::size_t words_of(const StepRecord& record, const TraceBase& before) {
    std::array<std::uint64_t, most_words> words{};
    const std::size_t count = pack(record, before, words.data());
    std::span<const std::uint64_t> rest = std::span(words).first(count);
    const auto back = unpack(rest, before);
    EXPECT_TRUE(back && std::memcmp(&*back, &record, sizeof(record)) == 0);
    EXPECT_TRUE(rest.empty());
    for (std::size_t size = 0; size < count; ++size) {
        rest = std::span(words).first(size);
        EXPECT_FALSE(unpack(rest, before)) << size;
    }
    return count;
}

TEST(TraceWords, AStepThatIsCloseToTheRecordBeforeTakesOne) {
    constexpr std::uint64_t now = std::uint64_t{1} << 40, limit = 1U << 20;
    constexpr TraceBase before{now, 1000};
    StepRecord usual;
    usual.begin = now;
    usual.end = now + 90;
    usual.call = 1000;
    usual.kind = static_cast<std::uint64_t>(TraceKind::wait);
    const auto with = [&](auto change) {
        StepRecord record = usual;
        change(record);
        return words_of(record, before);
    };
    EXPECT_EQ(with([](StepRecord&) {}), 1U);
    EXPECT_EQ(with([](StepRecord& r) { r.begin = r.end; }), 2U);
    EXPECT_EQ(with([](StepRecord& r) { r.begin = now - 1; }), most_words);
    EXPECT_EQ(with([](StepRecord& r) { r.begin = r.end + 1; }), most_words);
    EXPECT_EQ(with([](StepRecord& r) { r.end = now + limit - 1; }), 1U);
    EXPECT_EQ(with([](StepRecord& r) { r.end = now + limit; }), most_words);
    EXPECT_EQ(with([](StepRecord& r) { r.begin = now + limit * limit, r.end = r.begin + 3; }), 2U);
    EXPECT_EQ(with([](StepRecord& r) { r.bytes = limit - 1; }), 1U);
    EXPECT_EQ(with([](StepRecord& r) { r.bytes = limit; }), most_words);
    for (const std::uint32_t call : {992U, 999U, 1007U})
        EXPECT_EQ(with([&](StepRecord& r) { r.call = call; }), 1U) << call;
    for (const std::uint32_t call : {0U, 991U, 1008U, ~0U})
        EXPECT_EQ(with([&](StepRecord& r) { r.call = call; }), most_words) << call;
    for (const std::int32_t subject : {-2048, 0, 2047})
        EXPECT_EQ(with([&](StepRecord& r) { r.subject = subject; }), 1U) << subject;
    for (const std::int32_t subject : {-2049, 2048})
        EXPECT_EQ(with([&](StepRecord& r) { r.subject = subject; }), most_words) << subject;
    EXPECT_EQ(with([](StepRecord& r) { r.channel = 7; }), 1U);
    EXPECT_EQ(with([](StepRecord& r) { r.channel = 8; }), most_words);
    EXPECT_EQ(with([](StepRecord& r) { r.kind = 8; }), most_words);
    EXPECT_EQ(words_of(usual, {}), most_words);
    usual.call = 7;
    EXPECT_EQ(words_of(usual, {}), 2U);
}

TEST(TraceWords, ACallThatEndsWithItsLastStepTakesOne) {
    constexpr std::uint64_t now = std::uint64_t{1} << 40, limit = 1U << 24;
    StepRecord usual;
    usual.begin = now - 700;
    usual.end = now;
    usual.call = 3;
    usual.subject = 1;
    const auto with = [&](auto change) {
        StepRecord record = usual;
        change(record);
        return words_of(record, {now, 3});
    };
    EXPECT_EQ(with([](StepRecord&) {}), 1U);
    EXPECT_EQ(with([](StepRecord& r) { r.begin = now - limit + 1, r.bytes = limit - 1, r.subject = 511; }), 1U);
    EXPECT_EQ(with([](StepRecord& r) { r.begin = now - limit; }), most_words);
    EXPECT_EQ(with([](StepRecord& r) { r.bytes = limit; }), most_words);
    EXPECT_EQ(with([](StepRecord& r) { r.subject = 512; }), most_words);
    EXPECT_EQ(with([](StepRecord& r) { r.call = 11; }), most_words);
    EXPECT_EQ(with([](StepRecord& r) { r.end = now + 1; }), most_words);
    EXPECT_EQ(with([](StepRecord& r) { r.channel = 1; }), most_words);
}

}  // namespace
}  // namespace attune::core
