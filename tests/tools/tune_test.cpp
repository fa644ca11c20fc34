// attune-tune as a user starts it: a short run, its document, and what it refuses.
#include "tests/support/valid_document.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

namespace {

using attune::test::ProcessResult;

class AttuneTune : public testing::Test {
protected:
    ProcessResult run(std::vector<std::string> words, bool with_db = true) const {
        words.insert(words.begin(), std::string(ATTUNE_BIN_FOLDER) + "/attune-tune");
        if (with_db) words.insert(words.end(), {"--db", release()});
        return attune::test::run_process(words, {.environment = {{"XDG_DATA_HOME", folder_.path() + "/data"}}, .folder = {}});
    }
    std::string release() const { return folder_.path() + "/x.attune.db"; }

    attune::test::TemporaryFolder folder_;
};

TEST_F(AttuneTune, WritesOneDocumentThatFitsItsSchemaAndARelease) {
    const auto result = run({"all_reduce", "-n", "2", "-b", "8", "-e", "64", "--budget", "4s", "--json", "--quiet"});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    const auto document = attune::test::valid_document(result, "attune.tune.1");
    EXPECT_GT(document["trials"], 0);
    EXPECT_LE(document["spent_s"], 4 + 1 + 2) << "budget, one capped trial, publishing";
    EXPECT_EQ(access(release().c_str(), R_OK), 0);
    EXPECT_EQ(access((folder_.path() + "/x.attune.journal").c_str(), R_OK), 0);
}

TEST_F(AttuneTune, NoPublishWritesNoRelease) {
    const auto result = run({"broadcast", "-n", "2", "-b", "8", "-e", "8", "--budget", "2s", "--no-publish"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_NE(access(release().c_str(), F_OK), 0);
    EXPECT_NE(result.out.find("not published"), std::string::npos) << result.out;
}

TEST_F(AttuneTune, SaysWhatToDoNextInWordsThatWork) {
    const auto kept = run({"broadcast", "-n", "2", "-b", "8", "-e", "8", "--budget", "2s", "--no-publish"});
    EXPECT_NE(kept.out.find("attune-db publish --db " + release() + "\n"), std::string::npos) << kept.out;
    EXPECT_EQ(kept.out.find("--compare"), std::string::npos) << "there is nothing to compare yet";
    const auto local = run({"all_reduce", "-n", "2", "-b", "8", "-e", "24", "--budget", "2s", "--transport", "local", "-d", "int64", "--in-place", "yes"});
    EXPECT_NE(local.out.find("-n 2 -d int64 --transport local --in-place --explain --db " + release()), std::string::npos) << local.out;
    EXPECT_EQ(local.out.find("attune-run"), std::string::npos) << "its ranks are processes";
}

TEST_F(AttuneTune, CountsOnlyWhatThisRunDid) {
    ASSERT_EQ(run({"all_reduce", "-n", "2", "-b", "8", "-e", "8", "--budget", "3s", "--candidate-zero", "all_reduce:ring"}).code, 0);
    const auto second = run({"barrier", "-n", "2", "--budget", "1ms"});
    EXPECT_NE(second.out.find(", 0 sizes re-tested, 0 of them proven, in 0 rows"), std::string::npos) << second.out;
}

TEST_F(AttuneTune, WithoutAHomeOfTheUserNothingIsWrittenForTheWholeMachine) {
    const std::vector<std::string> words{std::string(ATTUNE_BIN_FOLDER) + "/attune-tune", "barrier", "-n", "2", "--budget", "1s"};
    for (const char* home : {"relative", ""}) {
        const auto result = attune::test::run_process(words, {.environment = {{"HOME", home}, {"XDG_DATA_HOME", ""}}, .folder = {}});
        EXPECT_EQ(result.code, 1);
        EXPECT_NE(result.err.find("no place for the database"), std::string::npos) << result.err;
    }
}

TEST_F(AttuneTune, AFullStandardErrorStopsNothing) {
    const std::string command = std::string(ATTUNE_BIN_FOLDER) + "/attune-tune barrier -n 2 --budget 1s --db " + release() + " 2>/dev/full";
    EXPECT_EQ(attune::test::run_process({"/bin/sh", "-c", command}).code, 0);
    EXPECT_TRUE(std::filesystem::exists(release()));
}

TEST_F(AttuneTune, TheTransportLocalIsTunedToo) {
    const auto result = run({"all_reduce", "-n", "2", "-b", "8", "-e", "8", "--budget", "2s", "--transport", "local", "--json", "--quiet"});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_TRUE(nlohmann::json::parse(result.out)["failures"].empty());
}

TEST_F(AttuneTune, RefusesContradictions) {
    EXPECT_EQ(run({"all_reduce", "--candidate-zero", "all_reduce:ring"}, false).code, 2) << "a test default never reaches the default database";
    EXPECT_EQ(run({"--candidate-zero", "all_reduce:rung"}).code, 2);
    EXPECT_EQ(run({"--recheck", "--resume"}).code, 2);
    EXPECT_EQ(run({"--budget", "0"}).code, 2);
    EXPECT_EQ(run({"--timeout", "0"}).code, 2);
    EXPECT_EQ(run({"-b", "64", "-e", "8"}).code, 2);
    EXPECT_EQ(run({"--dtype", "float7"}).code, 2);
    EXPECT_EQ(run({"--strategy", "exhausting"}).code, 2);
    EXPECT_NE(access(release().c_str(), F_OK), 0);
}

TEST_F(AttuneTune, ATestDefaultNeverReachesTheDefaultDatabaseByAnyName) {
    const std::string user = folder_.path() + "/data/attune/attune.db";
    const std::vector<std::string> words{"all_reduce", "-n", "2", "-b", "8", "-e", "8", "--budget", "1s", "--candidate-zero", "all_reduce:ring"};
    const auto with = [&](std::vector<std::string> more) {
        more.insert(more.begin(), words.begin(), words.end());
        return run(more, false).code;
    };
    EXPECT_EQ(with({"--db", user}), 2);
    EXPECT_EQ(with({"--db", folder_.path() + "/data/../data/attune/./attune.db"}), 2);
    EXPECT_EQ(with({"--db", release(), "--journal", folder_.path() + "/data/attune/attune.journal"}), 2);
    EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/data"));
}

TEST_F(AttuneTune, NothingButAReleaseIsReplaced) {
    const std::string text = folder_.path() + "/notes.txt";
    std::ofstream(text) << "precious";
    std::filesystem::create_symlink(text, folder_.path() + "/link");
    const auto with = [&](const std::string& db, const std::string& journal) {
        return run({"all_reduce", "-n", "2", "-b", "8", "-e", "8", "--budget", "1s", "--db", db, "--journal", journal}, false);
    };
    for (const std::string& db : {text, folder_.path() + "/link", folder_.path(), std::string("/dev/null"), release(), std::string()}) {
        const auto result = with(db, release());
        EXPECT_EQ(result.code, 2) << db << result.err;
        EXPECT_NE(result.err.find("--db"), std::string::npos) << result.err;
    }
    EXPECT_EQ(with(text + "/x.db", folder_.path() + "/j").code, 1) << "a file is no folder";
    EXPECT_EQ(std::filesystem::file_size(text), 8u);
    EXPECT_FALSE(std::filesystem::exists(release())) << "refused before the journal was made";
}

TEST_F(AttuneTune, AnEmptyFirstElementOfTheListIsNoFile) {
    const std::vector<std::string> words{std::string(ATTUNE_BIN_FOLDER) + "/attune-tune", "barrier", "-n", "2", "--budget", "1s", "--quiet"};
    const auto result = attune::test::run_process(words, {.environment = {{"ATTUNE_DB", ":" + release()}}, .folder = {}});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_TRUE(std::filesystem::exists(release()));
}

TEST_F(AttuneTune, WithNothingToResumeOrToRecheckSaysSo) {
    const auto resumed = run({"all_reduce", "--resume"});
    EXPECT_EQ(resumed.code, 2);
    EXPECT_NE(resumed.err.find("nothing to resume"), std::string::npos) << resumed.err;
    EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/x.attune.journal")) << "a mistyped name makes no journal";
    EXPECT_EQ(run({"--recheck"}).code, 3);
}

TEST_F(AttuneTune, InsideALauncherItRefuses) {
    const auto result = attune::test::run_process(
        {std::string(ATTUNE_BIN_FOLDER) + "/attune-run", "-n", "1", "--", std::string(ATTUNE_BIN_FOLDER) + "/attune-tune", "--db", release()});
    EXPECT_EQ(result.code, 2);
    EXPECT_NE(result.err.find("outside attune-run"), std::string::npos) << result.err;
}

}  // namespace
