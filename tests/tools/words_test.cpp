// Every tool: --help fits two screens and ends with a real example, --version names the release, wrong words exit 2 and name the nearest right one.
#include "tests/support/run_process.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

using attune::test::ProcessResult;
using attune::test::run_process;

struct Tool {
    std::string name;
    std::vector<std::string> wrong;  // a wrong word
    std::string nearest;             // what the message must name
};

void PrintTo(const Tool& tool, std::ostream* out) {
    *out << tool.name;
}

ProcessResult run_tool(const std::string& name, std::vector<std::string> words) {
    words.insert(words.begin(), std::string(ATTUNE_BIN_FOLDER) + "/" + name);
    return run_process(words);
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(line);
    }
    while (!lines.empty() && lines.back().empty()) {
        lines.pop_back();
    }
    return lines;
}

// A command line that would work.
std::vector<std::string> working_words(const std::string& tool) {
    const std::map<std::string, std::vector<std::string>> words = {{"attune-bench", {"--list"}},
                                                                   {"attune-tune", {"barrier", "--no-publish"}},
                                                                   {"attune-lookup", {"barrier"}},
                                                                   {"attune-db", {"where"}},
                                                                   {"attune-run", {"-n", "1", "--", "true"}},
                                                                   {"attune-verify", {"barrier", "-n", "2"}},
                                                                   {"attune-profile", {"show", "none"}}};
    std::vector<std::string> all = words.at(tool);
    all.insert(all.begin(), std::string(ATTUNE_BIN_FOLDER) + "/" + tool);
    return all;
}

class EveryTool : public testing::TestWithParam<Tool> {};

TEST_P(EveryTool, HelpFitsTwoScreensAndEndsWithAnExample) {
    const ProcessResult result = run_tool(GetParam().name, {"--help"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    const auto lines = lines_of(result.out);
    ASSERT_FALSE(lines.empty());
    EXPECT_LE(lines.size(), 48u);
    for (const std::string& line : lines) {
        EXPECT_LE(line.size(), 100u) << line;
    }
    const auto example = std::find(lines.begin(), lines.end(), "Example:");
    ASSERT_NE(example, lines.end());
    const std::string spoken = GetParam().name == "attune" ? "attune " : GetParam().name;
    EXPECT_TRUE(std::any_of(example, lines.end(), [&](const std::string& line) { return line.find(spoken) != std::string::npos; }));
}

TEST_P(EveryTool, VersionNamesToolAndRelease) {
    const ProcessResult result = run_tool(GetParam().name, {"--version"});
    EXPECT_EQ(result.code, 0);
    EXPECT_EQ(result.out, GetParam().name + " " + ATTUNE_PROJECT_VERSION + "\n");
}

TEST_P(EveryTool, AWrongWordExitsWithTwoAndNamesTheNearest) {
    const ProcessResult result = run_tool(GetParam().name, GetParam().wrong);
    EXPECT_EQ(result.code, 2) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_EQ(result.err.find(GetParam().name + ": "), 0u) << result.err;
    EXPECT_NE(result.err.find(GetParam().nearest), std::string::npos) << result.err;
}

TEST_P(EveryTool, AnOptionWithALetterWrongExitsWithTwoAndNamesTheRightOne) {
    const ProcessResult result = run_tool(GetParam().name, {"--versoin"});
    EXPECT_EQ(result.code, 2);
    EXPECT_NE(result.err.find("--version"), std::string::npos) << result.err;
}

TEST_P(EveryTool, AFlagTakesNoValue) {
    for (const char* word : {"--help=0", "--version=0"}) {
        const ProcessResult result = run_tool(GetParam().name, {word});
        EXPECT_EQ(result.code, 2) << word << ": " << result.out;
        EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    }
}

TEST_P(EveryTool, AWrongWordInTheEnvironmentExitsWithTwoAndNamesVariableValueAndTheNearest) {
    if (GetParam().name == "attune") GTEST_SKIP() << "hands everything on";
    const std::vector<std::vector<std::string>> wrong = {{"ATTUNE_FORCE", "all_reduce=rnig", "'ring'"}, {"ATTUNE_LOG", "wran", "'warn'"},
                                                         {"ATTUNE_TIMEOUT", "5x", "ms, s, m"},          {"ATTUNE_CHECK", "yes", "0 nor 1"},
                                                         {"ATTUNE_DB_MODE", "requir", "'require'"},     {"ATTUNE_DB_MIN_GRADE", "exakt", "'exact'"},
                                                         {"ATTUNE_TRANSPORT", "shmm", "'shm'"}};
    for (const auto& words : wrong) {
        const ProcessResult result = run_process(working_words(GetParam().name), {.environment = {{words[0], words[1]}}, .folder = {}});
        EXPECT_EQ(result.code, 2) << words[0] << " " << result.err;
        EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
        for (const std::string& word : words)
            EXPECT_NE(result.err.find(word), std::string::npos) << result.err;
    }
}

TEST_P(EveryTool, HelpNeedsNoSoundEnvironment) {
    const ProcessResult result =
        run_process({std::string(ATTUNE_BIN_FOLDER) + "/" + GetParam().name, "--help"}, {.environment = {{"ATTUNE_LOG", "wran"}}, .folder = {}});
    EXPECT_EQ(result.code, 0) << result.err;
}

const Tool every_tool[] = {
    {"attune", {"benhc"}, "bench"},
    {"attune-bench", {"all_redcue"}, "all_reduce"},
    {"attune-bench", {"all_reduce", "--agorithm", "ring"}, "--algorithm"},
    {"attune-bench", {"all_reduce", "--algorithm", "rinf"}, "ring"},
    {"attune-bench", {"all_reduce", "-d", "int32", "-o", "avg"}, "avg does not work on int32"},
    {"attune-tune", {"all_reduce", "-d", "bfloat16", "-o", "bor"}, "bor does not work on bfloat16"},
    {"attune-lookup", {"all_reduce", "64K", "-d", "float32", "-o", "bxor"}, "bxor does not work on float32"},
    {"attune-tune", {"all_redcue"}, "all_reduce"},
    {"attune-tune", {"--buget", "10s"}, "--budget"},
    {"attune-tune", {"all_to_all_v"}, "proven for equal blocks could be slower for others"},
    {"attune-tune", {"send_recv"}, "partners of its own"},
    {"attune-lookup", {"all_redcue", "64K"}, "all_reduce"},
    {"attune-db", {"pubish"}, "publish"},
    {"attune-run", {"--rank", "2", "--", "true"}, "--ranks"},
    {"attune-verify", {"all_redcue"}, "all_reduce"},
    {"attune-profile", {"shwo"}, "show"},
    {"attune-profile", {"show", "--perfeto", "x"}, "--perfetto"},
};
INSTANTIATE_TEST_SUITE_P(Words, EveryTool, testing::ValuesIn(every_tool), [](const testing::TestParamInfo<Tool>& info) {
    std::string name = info.param.name;
    std::replace(name.begin(), name.end(), '-', '_');
    return name + "_" + std::to_string(info.index);
});

// Each subcommand has a page of its own with an example of its own.
TEST(Subcommands, HelpFitsTwoScreensAndEndsWithItsOwnExample) {
    const std::vector<std::pair<std::string, std::string>> all = {
        {"attune-db", "where"}, {"attune-db", "list"}, {"attune-db", "show"}, {"attune-db", "verify"}, {"attune-db", "publish"}};
    for (const auto& [tool, subcommand] : all) {
        const auto lines = lines_of(run_tool(tool, {subcommand, "--help"}).out);
        EXPECT_LE(lines.size(), 48u);
        for (const std::string& line : lines)
            EXPECT_LE(line.size(), 100u) << line;
        const auto example = std::find(lines.begin(), lines.end(), "Example:");
        ASSERT_LT(example, lines.end() - 1) << tool << " " << subcommand;
        EXPECT_TRUE((example + 1)->starts_with("  " + tool + " " + subcommand)) << *(example + 1);
    }
}

TEST(Dispatcher, StartsTheToolBesideItself) {
    const ProcessResult direct = run_tool("attune-verify", {"--help"});
    EXPECT_EQ(run_tool("attune", {"verify", "--help"}).out, direct.out);
    EXPECT_EQ(run_tool("attune", {"help", "verify"}).out, direct.out);
}

TEST(Dispatcher, ListsTheToolsWithOneLineEach) {
    const ProcessResult result = run_tool("attune", {});
    EXPECT_EQ(result.code, 0);
    for (const char* tool : {"bench", "tune", "lookup", "db", "run", "verify", "profile"}) {
        EXPECT_NE(result.out.find(std::string("  ") + tool + " "), std::string::npos) << tool;
    }
    EXPECT_EQ(result.out.find("fuse"), std::string::npos);
}

TEST(Dispatcher, GivesTheToolsExitCodeBack) {
    EXPECT_EQ(run_tool("attune", {"verify", "--no-such-option"}).code, 2);
    EXPECT_EQ(run_tool("attune", {"../bin/attune-verify"}).code, 2);
}

TEST(Verify, SetTakesTheAlgorithmAndRefusesWhatProvesNothing) {
    const std::vector<std::vector<std::string>> wrong = {
        {"--set", "algorithm=rign"}, {"--set", "algorithm=ring", "--algorithm", "one_shot"}, {"--set", "protocol=inline"}};
    for (std::vector<std::string> words : wrong) {
        words.insert(words.begin(), {"all_reduce", "-n", "2"});
        EXPECT_EQ(run_tool("attune-verify", words).code, 2) << words.back();
    }
    const ProcessResult result = run_tool("attune-verify", {"all_reduce", "-n", "2", "--set", "algorithm=ring"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out.find("two_shot"), std::string::npos) << result.out;
}

TEST(Run, TheLaunchersOwnVariablesCannotBeSet) {
    EXPECT_EQ(run_tool("attune-run", {"-n", "2", "-x", "ATTUNE_RANK=1", "--", "true"}).code, 2);
}

}  // namespace
