// The frame of the tools: what is printed where, and which code comes back.
#include "apps/tools/support/options.hpp"
#include "apps/tools/support/run_tool.hpp"
#include "libcore/error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace attune;

struct Outcome {
    int code = 0;
    std::string out;
    std::string err;
};

Outcome run(const tools::Setup& setup, std::vector<const char*> words) {
    words.insert(words.begin(), "attune-try");
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    Outcome result;
    result.code = tools::run_tool({"attune-try", "Tries things.", "attune-try --algorithm ring"}, static_cast<int>(words.size()), words.data(), setup);
    result.out = testing::internal::GetCapturedStdout();
    result.err = testing::internal::GetCapturedStderr();
    return result;
}

// A flat tool: one option, one list of words, a number of ranks.
tools::Body flat(CLI::App& app) {
    struct Options {
        std::string algorithm;
        std::vector<std::string> collectives;
        int ranks = 2;
    };
    const auto options = std::make_shared<Options>();
    app.add_option("--algorithm", options->algorithm, "The algorithm");
    tools::add_word_list_option(app, "COLLECTIVE", options->collectives, {"collective", {"all_reduce", "broadcast"}});
    tools::add_ranks_option(app, options->ranks);
    return [options] { return options->ranks; };
}

tools::Body nested(CLI::App& app) {
    CLI::App* publish = app.add_subcommand("publish", "Publish");
    publish->add_flag("--dry-run");
    app.add_subcommand("list", "List");
    app.require_subcommand(1);
    return [] { return 0; };
}

tools::Body throwing(CLI::App&) {
    return []() -> int { throw core::Error(core::ErrorCode::busy, "journal x is busy\nheld by process 7"); };
}

TEST(RunTool, ReturnsWhatTheBodyReturns) {
    EXPECT_EQ(run(flat, {"-n", "7", "all_reduce"}).code, 7);
}

TEST(RunTool, AWrongOptionExitsWithTwoAndNamesTheNearest) {
    const Outcome result = run(flat, {"--agorithm", "ring"});
    EXPECT_EQ(result.code, 2);
    EXPECT_EQ(result.err, "attune-try: unknown option --agorithm; did you mean --algorithm?\n");
    EXPECT_EQ(result.out, "");
}

TEST(RunTool, AWrongOptionWithAnEqualsSignIsNamedWithoutItsValue) {
    EXPECT_EQ(run(flat, {"--agorithm=ring"}).err, "attune-try: unknown option --agorithm; did you mean --algorithm?\n");
}

TEST(RunTool, AWrongOptionNearNothingPointsToHelp) {
    const Outcome result = run(flat, {"--zzzzzzzzzz"});
    EXPECT_EQ(result.code, 2);
    EXPECT_NE(result.err.find("--help"), std::string::npos);
}

TEST(RunTool, ALongOptionWithOneDashIsUnderstoodAsATypingError) {
    const Outcome result = run(nested, {"publish", "-dry-run"});
    EXPECT_EQ(result.code, 2);
    EXPECT_NE(result.err.find("--dry-run"), std::string::npos) << result.err;
}

TEST(RunTool, AWrongWordOfAListNamesTheNearest) {
    const Outcome result = run(flat, {"all_redcue"});
    EXPECT_EQ(result.code, 2);
    EXPECT_NE(result.err.find("all_reduce"), std::string::npos);
}

TEST(RunTool, AWrongSubcommandNamesTheNearest) {
    const Outcome result = run(nested, {"pubish"});
    EXPECT_EQ(result.code, 2);
    EXPECT_EQ(result.err, "attune-try: unknown subcommand 'pubish'; did you mean 'publish'?\n");
}

TEST(RunTool, AWrongOptionOfASubcommandNamesTheNearestThere) {
    const Outcome result = run(nested, {"publish", "--dryrun"});
    EXPECT_EQ(result.code, 2);
    EXPECT_EQ(result.err, "attune-try: unknown option --dryrun; did you mean --dry-run?\n");
}

TEST(RunTool, AMissingSubcommandIsAUsageErrorOfOneLine) {
    const Outcome result = run(nested, {});
    EXPECT_EQ(result.code, 2);
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
}

TEST(RunTool, AMissingValueIsAUsageErrorOfOneLine) {
    const Outcome result = run(flat, {"--algorithm"});
    EXPECT_EQ(result.code, 2);
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
}

TEST(RunTool, AnErrorIsOneLineWithItsOwnCode) {
    const Outcome result = run(throwing, {});
    EXPECT_EQ(result.code, 75);
    EXPECT_EQ(result.err, "attune-try: journal x is busy held by process 7\n");
}

TEST(RunTool, AnyOtherExceptionIsAFailure) {
    const Outcome result = run([](CLI::App&) { return []() -> int { throw std::runtime_error("no luck"); }; }, {});
    EXPECT_EQ(result.code, 1);
    EXPECT_EQ(result.err, "attune-try: no luck\n");
}

TEST(RunTool, HelpGoesToStandardOutputAndEndsWithTheExample) {
    const Outcome result = run(flat, {"--help"});
    EXPECT_EQ(result.code, 0);
    EXPECT_EQ(result.err, "");
    EXPECT_TRUE(result.out.ends_with("Example:\n  attune-try --algorithm ring\n\n") || result.out.ends_with("Example:\n  attune-try --algorithm ring\n"))
        << result.out;
}

TEST(RunTool, HelpWinsOverOtherwiseMissingWords) {
    EXPECT_EQ(run(nested, {"--help"}).code, 0);
    EXPECT_EQ(run(nested, {"publish", "--help"}).code, 0);
}

TEST(RunTool, VersionNamesToolAndNumber) {
    EXPECT_EQ(run(flat, {"--version"}).out, "attune-try " + std::string(tools::version()) + "\n");
}

tools::Body starter(CLI::App& app, std::vector<std::string>& command) {
    const auto ranks = std::make_shared<int>(2);
    tools::add_ranks_option(app, *ranks);
    app.prefix_command();
    return [&app, &command, ranks] {
        command = tools::command_words(app);
        return *ranks;
    };
}

TEST(RunTool, ACommandKeepsItsOwnOptions) {
    std::vector<std::string> command;
    const auto setup = [&command](CLI::App& app) { return starter(app, command); };
    EXPECT_EQ(run(setup, {"-n", "3", "--", "program", "--ranks", "9", "--", "-x"}).code, 3);
    EXPECT_EQ(command, (std::vector<std::string>{"program", "--ranks", "9", "--", "-x"}));
    EXPECT_EQ(run(setup, {"-n", "3", "program", "-n", "9"}).code, 3);
    EXPECT_EQ(command, (std::vector<std::string>{"program", "-n", "9"}));
}

TEST(RunTool, AWrongOptionBeforeTheCommandIsRefused) {
    std::vector<std::string> command;
    const Outcome result = run([&command](CLI::App& app) { return starter(app, command); }, {"--rank", "3", "--", "program"});
    EXPECT_EQ(result.code, 2);
    EXPECT_EQ(result.err, "attune-try: unknown option --rank; did you mean --ranks?\n");
}

TEST(WrapLines, BreaksAtSpacesAndIndents) {
    EXPECT_EQ(tools::wrap_lines("  -a  one two three", 13, 6), "  -a  one two\n      three\n");
    EXPECT_EQ(tools::wrap_lines("short\n\nlines", 13, 6), "short\n\nlines\n");
    EXPECT_EQ(tools::wrap_lines("unbreakableunbreakable", 5, 2), "unbreakableunbreakable\n");
}

}  // namespace
