#include "libcore/trace.hpp"

#include "libcore/file.hpp"
#include "libcore/trace_words.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace attune::core {
namespace {

std::string read_text(const std::string& path) {
    const std::vector<std::byte> bytes = read_whole_file(path);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(JsonQuoted, EscapesQuotesControlsAndForeignBytes) {
    EXPECT_EQ(json_quoted("plain text"), "\"plain text\"");
    EXPECT_EQ(json_quoted("a\"b\\c"), R"("a\"b\\c")");
    EXPECT_EQ(json_quoted("\n\t\x7f"), R"("\u000a\u0009\u007f")");
    EXPECT_EQ(json_quoted("\xff"), R"("\u00ff")");
    EXPECT_EQ(json_quoted(std::string_view("\0", 1)), R"("\u0000")");
}

TEST(Trace, WritesOneArrayOfCompleteEvents) {
    const tests::TemporaryDirectory directory;
    const std::string path = directory.file("trace.json");
    {
        const auto sink = open_trace_file(path, 42);
        sink->record({"all_reduce", "algorithm=ring", 1'234'567, 1'235'000, 64});
        sink->record({"bar\"rier", "", 2'000'000, 1'999'999, 0});
    }
    const std::string thread = std::to_string(::gettid());
    EXPECT_EQ(read_text(path), "[\n{\"name\":\"all_reduce\",\"cat\":\"attune\",\"ph\":\"X\",\"pid\":42,\"tid\":" + thread +
                                   ",\"ts\":1234.567,\"dur\":0.433,\"args\":{\"detail\":\"algorithm=ring\",\"bytes\":64}},\n"
                                   "{\"name\":\"bar\\\"rier\",\"cat\":\"attune\",\"ph\":\"X\",\"pid\":42,\"tid\":" +
                                   thread + ",\"ts\":2000.000,\"dur\":0.000,\"args\":{\"detail\":\"\",\"bytes\":0}}\n]\n");
}

TEST(Trace, AnEmptyTraceIsAnEmptyArray) {
    const tests::TemporaryDirectory directory;
    open_trace_file(directory.file("t"), 1).reset();
    EXPECT_EQ(read_text(directory.file("t")), "[]\n");
}

TEST(Trace, BelongsToItsOwnerAlone) {
    const tests::TemporaryDirectory directory;
    const auto sink = open_trace_file(directory.file("t"), 1);
    struct stat facts {};
    ASSERT_EQ(::stat(directory.file("t").c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0600U);
}

TEST(Trace, NeverReplacesAFileOrFollowsALink) {
    const tests::TemporaryDirectory directory;
    open_trace_file(directory.file("t"), 1).reset();
    tests::expect_error(ErrorCode::failure, "File exists", [&] { open_trace_file(directory.file("t"), 1); });
    ASSERT_EQ(::symlink(directory.file("target").c_str(), directory.file("link").c_str()), 0);
    tests::expect_error(ErrorCode::failure, "cannot create", [&] { open_trace_file(directory.file("link"), 1); });
    EXPECT_FALSE(file_exists(directory.file("target")));
    tests::expect_error(ErrorCode::failure, "cannot create", [&] { open_trace_file(directory.file("none/t"), 1); });
}

TEST(Trace, KeepsEveryEventOfSeveralThreadsAndBeyondItsBuffer) {
    const tests::TemporaryDirectory directory;
    constexpr int threads = 4, events = 3000;
    {
        const auto sink = open_trace_file(directory.file("t"), 1);
        const auto work = [&sink] {
            for (int i = 0; i < events; ++i)
                sink->record({"event", "a detail to fill the buffer more than once", i, i + 1, 8});
        };
        std::vector<std::jthread> team;
        for (int t = 0; t < threads; ++t)
            team.emplace_back(work);
    }
    const std::string text = read_text(directory.file("t"));
    EXPECT_GT(text.size(), 1U << 20);
    EXPECT_EQ(std::count(text.begin(), text.end(), '{'), 2 * threads * events);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), threads * events + 2);
    EXPECT_TRUE(text.ends_with("}\n]\n"));
}

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
