#include "libcore/trace.hpp"

#include "libcore/file.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
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

}  // namespace
}  // namespace attune::core
