// Tables, colors, progress, JSON frame and interrupts.
#include "apps/tools/support/color.hpp"
#include "apps/tools/support/interrupt.hpp"
#include "apps/tools/support/json.hpp"
#include "apps/tools/support/progress.hpp"
#include "apps/tools/support/table.hpp"
#include "libcore/error.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <limits>

namespace {

using namespace attune;

TEST(DisplayWidth, CountsCharactersAsATerminalShowsThem) {
    EXPECT_EQ(tools::display_width(""), 0u);
    EXPECT_EQ(tools::display_width("abc"), 3u);
    EXPECT_EQ(tools::display_width("µs"), 2u);
    EXPECT_EQ(tools::display_width("e\u0301"), 1u);
    EXPECT_EQ(tools::display_width("集合"), 4u);
    EXPECT_EQ(tools::display_width("\033[1mbold\033[0m"), 4u);
    EXPECT_EQ(tools::display_width("\xC3"), 1u);
    EXPECT_EQ(tools::display_width("\xFF\xFEx"), 3u);
}

TEST(TableTest, AlignsColumnsByWhatIsShown) {
    tools::Table table({{"name", tools::Align::left}, {"time"}});
    table.add_row({"ring", "1.5 µs"});
    table.add_row({"\033[1mtwo_shot\033[0m", "10 µs"});
    EXPECT_EQ(table.text(),
              "name        time\n"
              "----------------\n"
              "ring      1.5 µs\n"
              "\033[1mtwo_shot\033[0m   10 µs\n");
}

TEST(TableTest, LeavesNoSpacesAtLineEnds) {
    tools::Table table({{"a"}, {"b", tools::Align::left}});
    table.add_row({"1"});
    table.add_rule();
    table.add_row({"2", "long"});
    EXPECT_EQ(table.text(), "a  b\n-------\n1\n-------\n2  long\n");
}

TEST(TableTest, RefusesTooManyCells) {
    tools::Table table({{"a"}});
    EXPECT_THROW(table.add_row({"1", "2"}), core::Error);
}

TEST(PaintTest, IsPlainWhenOff) {
    EXPECT_EQ(tools::Paint(false).bold("x"), "x");
    EXPECT_EQ(tools::Paint(true).bold("x"), "\033[1mx\033[0m");
    EXPECT_TRUE(tools::use_color(tools::ColorMode::always, 1));
    EXPECT_FALSE(tools::use_color(tools::ColorMode::never, 1));
}

struct ProgressTest : testing::Test {
    core::ManualClock clock;
    std::string shown;
    tools::ProgressOptions options(tools::ProgressMode mode) {
        return {.mode = mode, .title = "tuning", .columns = 60, .clock = &clock, .sink = [this](std::string_view text) { shown += text; }};
    }
};

TEST_F(ProgressTest, PrintsALineAboutEveryTenSecondsWithoutATerminal) {
    tools::Progress progress(options(tools::ProgressMode::lines));
    progress.update(0.0, "start");
    clock.advance_ns(9'999'999'999);
    progress.update(0.1, "early");
    EXPECT_EQ(shown, "");
    clock.advance_ns(1);
    progress.update(0.25, "all_reduce 4 KiB");
    EXPECT_EQ(shown, "tuning: 25 %, 0:30 left  all_reduce 4 KiB\n");
    clock.advance_ns(1'000'000'000);
    progress.update(0.3, "too soon");
    progress.finish();
    EXPECT_EQ(shown, "tuning: 25 %, 0:30 left  all_reduce 4 KiB\n");
}

TEST_F(ProgressTest, RedrawsABarAndRemovesIt) {
    tools::Progress progress(options(tools::ProgressMode::bar));
    progress.update(0.5, "now", 65);
    EXPECT_EQ(shown, "\r\033[Ktuning [############............] 50 %, 1:05 left  now");
    shown.clear();
    progress.update(0.6, "same instant");
    EXPECT_EQ(shown, "");
    progress.finish();
    progress.finish();
    EXPECT_EQ(shown, "\r\033[K");
}

TEST_F(ProgressTest, NeverDrawsWiderThanTheTerminal) {
    tools::Progress progress(options(tools::ProgressMode::bar));
    progress.update(0.5, "µµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµ", 65);
    EXPECT_LE(tools::display_width(shown.substr(1)), 60u);
    EXPECT_NE(shown.back(), '\xC2');
}

TEST_F(ProgressTest, IsSilentWhenAskedTo) {
    tools::Progress progress(options(tools::ProgressMode::none));
    clock.advance_ns(20'000'000'000);
    progress.update(2.0, "x");
    progress.finish();
    EXPECT_EQ(shown, "");
}

TEST(TimeLeft, IsMinutesAndSeconds) {
    EXPECT_EQ(tools::time_left(0), "0:00 left");
    EXPECT_EQ(tools::time_left(64.2), "1:05 left");
    EXPECT_EQ(tools::time_left(7380), "2:03:00 left");
    EXPECT_EQ(tools::time_left(-5), "0:00 left");
}

TEST(JsonDocument, StartsWithSchemaVersionAndMachine) {
    const tools::Json document = tools::json_document("attune.bench/1", core::Topology{});
    std::vector<std::string> names;
    for (const auto& item : document.items()) {
        names.push_back(item.key());
    }
    EXPECT_EQ(names, (std::vector<std::string>{"schema", "version", "machine"}));
    EXPECT_EQ(document["schema"], "attune.bench/1");
    EXPECT_TRUE(document["machine"]["l3_bytes"].is_number());
}

TEST(JsonNumber, IsNullWhenAbsentOrNotFinite) {
    EXPECT_TRUE(tools::json_number(std::nullopt).is_null());
    EXPECT_TRUE(tools::json_number(std::numeric_limits<double>::infinity()).is_null());
    EXPECT_EQ(tools::json_number(1.5), 1.5);
}

TEST(PrintJson, ReplacesBytesThatAreNotUtf8) {
    testing::internal::CaptureStdout();
    tools::print_json({{"a", "\xFF"}});
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "{\n  \"a\": \"\uFFFD\"\n}\n");
}

TEST(InterruptGuardTest, NotesTheFirstSignalAndLeavesTheSecondToTheSystem) {
    const tools::InterruptGuard guard;
    EXPECT_FALSE(guard.interrupted());
    std::raise(SIGINT);
    EXPECT_TRUE(guard.interrupted());
    struct sigaction now {};
    sigaction(SIGINT, nullptr, &now);
    EXPECT_EQ(now.sa_handler, SIG_DFL);
}

TEST(InterruptGuardTest, RestoresWhatWasThere) {
    std::signal(SIGTERM, SIG_IGN);
    { const tools::InterruptGuard guard; }
    EXPECT_EQ(std::signal(SIGTERM, SIG_DFL), SIG_IGN);
}

}  // namespace
