// Programs whose communicators are made from others: started as users start them.
#include "tests/runtime/ring_release.hpp"
#include "tests/support/run_process.hpp"

#include <gtest/gtest.h>

#include <string>

namespace attune::test {
namespace {

ProcessResult teams(const TemporaryFolder& folder, int ranks, const std::string& release = "",
                    std::vector<std::pair<std::string, std::string>> environment = {}) {
    environment.emplace_back("XDG_DATA_HOME", folder.path());
    std::vector<std::string> words = {ATTUNE_RUN, "-n", std::to_string(ranks), "--", ATTUNE_TEAMS_PROGRAM};
    if (!release.empty()) words.push_back(release);
    return run_process(words, {.environment = std::move(environment), .folder = folder.path()});
}

std::size_t lines_with(const std::string& text, std::string_view part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++count;
    return count;
}

TEST(Teams, EveryCallIsRight) {
    const TemporaryFolder folder;
    for (const int ranks : {1, 2, 3, 5}) {
        const ProcessResult result = teams(folder, ranks);
        EXPECT_EQ(result.code, 0) << ranks << " ranks: " << result.err;
        EXPECT_EQ(result.err, "");
    }
}

TEST(Teams, ChecksOfCallsHoldInEveryCommunicator) {
    const TemporaryFolder folder;
    const ProcessResult result = teams(folder, 3, "", {{"ATTUNE_CHECK", "1"}});
    EXPECT_EQ(result.code, 0) << result.err;
}

TEST(Teams, AReleaseIsLoadedIntoALivingCommunicatorAndForgotten) {
    const TemporaryFolder folder;
    const std::string release = folder.path() + "/ring.attune.db";
    publish_ring(release, this_machine());
    const ProcessResult result = teams(folder, 2, release);
    EXPECT_EQ(result.code, 0) << result.err;
}

// Two rows of this release are for 2 ranks: nothing for the team of 3 itself, but its parts of 2 use them.
TEST(Teams, RowsForFewerRanksServeSubCommunicators) {
    const TemporaryFolder folder;
    publish_ring(folder.path() + "/ring.attune.db", this_machine());
    const ProcessResult result = teams(folder, 3, "", {{"ATTUNE_DB", folder.path() + "/ring.attune.db"}, {"ATTUNE_LOG", "info"}});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(lines_with(result.err, "skipped"), 0U) << result.err;
    EXPECT_EQ(lines_with(result.err, " calls: "), 2U) << result.err;  // of the first team and of the one that the program makes beside it
}

TEST(Teams, WarningsAreSaidOncePerProcess) {
    const TemporaryFolder folder;
    const ProcessResult result = teams(folder, 2, "", {{"ATTUNE_DB", folder.path() + "/absent.db"}, {"ATTUNE_HEAP_LIMIT", "1G"}});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(lines_with(result.err, "absent.db"), 1U) << result.err;
    EXPECT_EQ(lines_with(result.err, "attune: warning: ATTUNE_HEAP_LIMIT"), 1U) << result.err;
}

}  // namespace
}  // namespace attune::test
