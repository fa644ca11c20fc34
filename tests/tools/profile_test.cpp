// attune-profile from the outside: records a program, shows where its time goes, names the late rank, refuses what is no trace.
#include "tests/support/valid_document.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

using attune::test::ProcessResult;
using attune::test::run_process;
using attune::test::TemporaryFolder;
using nlohmann::json;
namespace fs = std::filesystem;

ProcessResult profile(std::vector<std::string> words, const std::string& folder = {}) {
    words.insert(words.begin(), std::string(ATTUNE_BIN_FOLDER) + "/attune-profile");
    return run_process(words, {.environment = {{"ATTUNE_DB_MODE", "off"}}, .folder = folder});
}

ProcessResult record(const TemporaryFolder& folder, std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"run", "-n", "2", "--output", folder.path() + "/traces"};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--", ATTUNE_LATE_PROGRAM, "40", "3000"});
    return profile(words);
}

TEST(Profile, ShowsWhereTheTimeGoesAndNamesTheLateRank) {
    const TemporaryFolder folder;
    const ProcessResult recorded = record(folder);
    ASSERT_EQ(recorded.code, 0) << recorded.err;
    EXPECT_NE(recorded.err.find("2 traces in "), std::string::npos) << recorded.err;
    const ProcessResult shown = profile({"show", folder.path() + "/traces"});
    EXPECT_EQ(shown.code, 0) << shown.err;
    EXPECT_NE(shown.out.find("all_reduce 1024 float32 sum in place"), std::string::npos) << shown.out;
    EXPECT_NE(shown.out.find("Rank 1 is late to "), std::string::npos) << shown.out;
}

TEST(Profile, TheDocumentFitsItsSchemaAndHoldsWhatIsCertain) {
    const TemporaryFolder folder;
    ASSERT_EQ(record(folder, {"--bind-to", "none"}).code, 0);
    const ProcessResult shown = profile({"show", "--json", folder.path() + "/traces"});
    ASSERT_EQ(shown.code, 0) << shown.err;
    const json document = attune::test::valid_document(shown, "attune.profile.1");
    ASSERT_EQ(document["ranks"].size(), 2U);
    EXPECT_EQ(document["ranks"][0]["calls"], 40);
    ASSERT_EQ(document["calls"].size(), 1U);
    EXPECT_EQ(document["calls"][0]["bytes"], 4096);
    ASSERT_FALSE(document["late"].empty());
    // The delayed rank slept at least so long; what is late by chance on a busy machine is not late so often.
    for (const json& late : document["late"]) {
        if (late["rank"] == 1) {
            EXPECT_GE(late["longest_delay_us"], 2000.0) << document["late"];
        }
    }
}

TEST(Profile, ShowsWhatAKilledRankRecordedAndThatItEndsEarly) {
    const TemporaryFolder folder;
    const std::string traces = folder.path() + "/traces";
    const ProcessResult recorded = profile({"run", "-n", "2", "--output", traces, "--", ATTUNE_LATE_PROGRAM, "40", "1", "30"});
    EXPECT_EQ(recorded.code, 128 + SIGKILL) << recorded.err;
    const ProcessResult shown = profile({"show", traces});
    EXPECT_EQ(shown.code, 0) << shown.err;
    EXPECT_NE(shown.out.find("The trace of rank 1 ends early, after "), std::string::npos) << shown.out;
    const json ranks = json::parse(profile({"show", "--json", traces}).out)["ranks"];
    EXPECT_EQ(ranks[1]["calls"], 30);
    EXPECT_EQ(ranks[1]["complete"], false);
}

// Time namespaces stand for machines: rank 1's clock is 1,000 s ahead.
TEST(Profile, ComparesTheClocksOfRanksBeforeTheirArrivals) {
    if (run_process({"unshare", "--time", "true"}, {}).code != 0) GTEST_SKIP() << "needs unshare --time, and root";
    const TemporaryFolder folder;
    const std::string traces = folder.path() + "/traces";
    const char* script = R"(if [ "$ATTUNE_RANK" = 1 ]; then exec unshare --time --monotonic=1000 "$0" "$@"; fi; exec "$0" "$@")";
    const ProcessResult recorded = profile({"run", "-n", "2", "--output", traces, "--", "sh", "-c", script, ATTUNE_LATE_PROGRAM, "40", "20000"});
    ASSERT_EQ(recorded.code, 0) << recorded.err;
    const json document = json::parse(profile({"show", "--json", traces}).out);
    EXPECT_EQ(document["ranks"][0]["clock_error_us"], 0.0);
    EXPECT_GT(document["ranks"][1]["clock_error_us"], 0.0);
    ASSERT_FALSE(document["late"].empty()) << document;
    // On a busy machine both may be late by chance; but by 1,000 s only a rank whose clock was not compared.
    bool named = false;
    for (const json& late : document["late"]) {
        EXPECT_LT(late["longest_delay_us"], 500e6) << document["late"];
        named |= late["rank"] == 1 && late["longest_delay_us"] >= 10'000.0;
    }
    EXPECT_TRUE(named) << document["late"];
}

TEST(Profile, AFolderThatTakesNoTracesIsOneLine) {
    const TemporaryFolder folder;
    ASSERT_EQ(record(folder).code, 0);
    std::ofstream(folder.path() + "/file") << "text";
    for (const std::string& output : {folder.path() + "/traces", folder.path() + "/file", folder.path() + "/no/where", std::string("/proc/attune")}) {
        const ProcessResult result = profile({"run", "-n", "2", "--output", output, "--", ATTUNE_LATE_PROGRAM, "3", "1"});
        EXPECT_EQ(result.code, 1) << output;
        EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
        EXPECT_NE(result.err.find(output), std::string::npos) << result.err;
    }
}

TEST(Profile, WritesEventsForPerfetto) {
    const TemporaryFolder folder;
    ASSERT_EQ(record(folder).code, 0);
    const std::string out = folder.path() + "/events.json";
    ASSERT_EQ(profile({"show", "--perfetto", out, folder.path() + "/traces"}).code, 0);
    std::ifstream file(out);
    const json events = json::parse(file)["traceEvents"];
    const auto calls = std::ranges::count_if(events, [](const json& event) { return event.value("cat", "") == "call" && event["args"]["call"] != 0; });
    EXPECT_EQ(calls, 80);
    EXPECT_EQ(profile({"show", "--perfetto", out, folder.path() + "/traces"}).code, 1);  // never overwritten
}

TEST(Profile, RecordsIntoANewFolderAndShowsTheNewest) {
    const TemporaryFolder folder;
    const std::vector<std::string> words = {"run", "-n", "1", "--", ATTUNE_LATE_PROGRAM, "3", "1"};
    ASSERT_EQ(profile(words, folder.path()).code, 0);
    ASSERT_EQ(profile(words, folder.path()).code, 0);
    EXPECT_TRUE(fs::exists(folder.path() + "/attune-trace/rank-0.steps"));
    EXPECT_TRUE(fs::exists(folder.path() + "/attune-trace-2/rank-0.steps"));
    EXPECT_EQ(profile({"show"}, folder.path()).code, 0);
}

TEST(Profile, GivesTheProgramsStatusBack) {
    const TemporaryFolder folder;
    EXPECT_EQ(profile({"run", "-n", "2", "--", "false"}, folder.path()).code, 1);
    EXPECT_TRUE(fs::is_empty(folder.path()));
    const ProcessResult silent = profile({"run", "-n", "2", "--", "true"}, folder.path());
    EXPECT_EQ(silent.code, 1);
    EXPECT_NE(silent.err.find("left no trace"), std::string::npos) << silent.err;
    EXPECT_EQ(profile({"run", "-n", "2"}, folder.path()).code, 2);
    EXPECT_EQ(profile({"run", "-n", "2", "--bind-to", "cores", "--", "true"}, folder.path()).code, 2);
    EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(Profile, TruncatedForeignAndMissingTracesAreOneLine) {
    const TemporaryFolder folder;
    ASSERT_EQ(record(folder).code, 0);
    const std::string trace = folder.path() + "/traces/rank-1.steps";
    fs::resize_file(trace, fs::file_size(trace) - 7);
    const std::string foreign = folder.path() + "/foreign";
    std::ofstream(foreign) << "[]\n";
    const std::vector<std::pair<std::string, int>> wrong = {{trace, 4}, {foreign, 4}, {folder.path() + "/nothing", 3}};
    for (const auto& [file, code] : wrong) {
        const ProcessResult result = profile({"show", file});
        EXPECT_EQ(result.code, code) << result.err;
        EXPECT_EQ(result.out, "");
        EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
        EXPECT_NE(result.err.find(file), std::string::npos) << result.err;
    }
    const TemporaryFolder empty;
    EXPECT_EQ(profile({"show"}, empty.path()).code, 3);
    EXPECT_EQ(profile({"show", empty.path()}).code, 3);
}

}  // namespace
