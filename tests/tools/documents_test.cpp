// Every --json document fits its schema in docs/schemas, and standard output holds nothing else.
#include "tests/support/valid_document.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

using attune::test::ProcessResult;
using attune::test::run_process;
using attune::test::TemporaryFolder;
using nlohmann::json;

// Runs the tool and holds its document against the schema. Returns the document.
json expect_document(const std::string& schema, std::vector<std::string> words, int code = 0) {
    words.front() = std::string(ATTUNE_BIN_FOLDER) + "/" + words.front();
    words.push_back("--json");
    const ProcessResult result = run_process(words);
    EXPECT_EQ(result.code, code) << result.err;
    SCOPED_TRACE(words.front());
    return attune::test::valid_document(result, "attune." + schema + ".1");
}

TEST(Documents, OfAttuneBenchFitTheirSchema) {
    const TemporaryFolder folder;
    const json document = expect_document("bench", {"attune-bench", "all_reduce", "barrier", "-n", "2", "-b", "8", "-e", "64", "--check", "--iterations", "20",
                                                    "--db", folder.path() + "/none.db"});
    ASSERT_FALSE(document["results"].empty());
    for (const json& result : document["results"]) {
        EXPECT_TRUE(result["collective"] == "barrier" || result["wrong"] == 0) << result;
    }
}

TEST(Documents, OfAListOfAlgorithmsFitTheirSchema) {
    EXPECT_FALSE(expect_document("list", {"attune-bench", "--list"})["algorithms"].empty());
}

TEST(Documents, OfAttuneVerifyFitTheirSchema) {
    const json document = expect_document("verify", {"attune-verify", "all_reduce", "broadcast", "--ranks", "1-3", "--roots", "all"});
    EXPECT_GT(document["proved"], 0);
    EXPECT_TRUE(document["failed"].empty());
}

// One short tuning run, and what the other tools make of its files.
TEST(Documents, OfATunedMachineFitTheirSchemas) {
    const TemporaryFolder folder;
    const std::string db = folder.path() + "/attune.db";
    const json tuned = expect_document(
        "tune", {"attune-tune", "all_reduce", "-n", "2", "-b", "8", "-e", "64", "--budget", "6s", "--candidate-zero", "all_reduce:ring", "--db", db});
    EXPECT_GT(tuned["trials"], 0);
    expect_document("lookup", {"attune-lookup", "all_reduce", "64", "-n", "2", "--db", db});
    const json compared = expect_document("compare", {"attune-bench", "all_reduce", "-n", "2", "-b", "8", "-e", "8", "--compare", "default,tuned", "--db", db});
    EXPECT_FALSE(compared["results"].empty());
}

TEST(Documents, OfALookupWithoutADatabaseFitTheSchema) {
    const TemporaryFolder folder;
    const json document = expect_document("lookup", {"attune-lookup", "all_reduce", "64K", "-n", "2", "--db", folder.path() + "/none.db"});
    EXPECT_EQ(document["source"], "default");
    EXPECT_EQ(document["match"], "none");
}

}  // namespace
