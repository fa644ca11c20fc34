// attune-bench as its users run it.
#include "tests/support/valid_document.hpp"
#include "tests/tools/bench/planted_release.hpp"
#include "tests/tools/bench/run_bench.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>
#include <vector>

namespace attune::test {
namespace {

using Json = nlohmann::json;

TEST(Bench, EveryCollectiveIsExactOnEveryTransportAndNumberOfRanks) {
    for (const char* transport : {"shm", "local"}) {
        for (const char* ranks : {"1", "2", "3", "8"}) {
            const ProcessResult result =
                run_bench({"all", "-n", ranks, "--transport", transport, "-b", "8", "-e", "64K", "-f", "64", "--iterations", "2", "--check", "--json"});
            EXPECT_EQ(result.code, 0) << result.err;
            const Json document = valid_document(result, "attune.bench.1");
            EXPECT_EQ(document["ranks"], std::stoi(ranks));
            EXPECT_EQ(document["results"].size(), 88u);  // 12 collectives in two forms and 5 in one, each in 3 sizes; one barrier
            for (const Json& row : document["results"])
                EXPECT_EQ(row["wrong"], 0) << row;
        }
    }
}

TEST(Bench, EveryTypeAndOperatorIsExact) {
    const ProcessResult result =
        run_bench({"all_reduce", "reduce_scatter", "-n", "3", "--count", "0,2,1009", "-d", "all", "-o", "all", "--iterations", "1", "-c", "--json"});
    EXPECT_EQ(result.code, 0) << result.err;
    const Json document = valid_document(result, "attune.bench.1");
    EXPECT_EQ(document["results"].size(), 2 * (8 * 7 + 4 * 5) * 3 * 2u);  // integers have bit operators, floats an average
    for (const Json& row : document["results"])
        EXPECT_EQ(row["wrong"], 0) << row;
}

TEST(Bench, TheTableHasTheColumnsAndTheFooterOfNcclTests) {
    const ProcessResult result = run_bench({"all_reduce", "-n", "2", "-b", "8", "-e", "8", "--iterations", "2", "-c"});
    EXPECT_EQ(result.code, 0) << result.err;
    for (const char* piece : {"size", "count", "type", "redop", "root", "out-of-place", "in-place", "algbw", "busbw", "#wrong", "algorithm", "source",
                              "# Out of bounds values : 0 OK", "# Avg bus bandwidth"}) {
        EXPECT_NE(result.out.find(piece), std::string::npos) << piece << "\n" << result.out;
    }
}

TEST(Bench, AForcedAlgorithmIsTheEffectiveOne) {
    const ProcessResult result = run_bench({"all_reduce", "-n", "2", "-b", "4K", "-e", "4K", "--algorithm", "ring", "--set", "segment_bytes=1K", "--iterations",
                                            "2", "--in-place", "no", "--json"});
    EXPECT_EQ(result.code, 0) << result.err;
    const Json document = valid_document(result, "attune.bench.1");
    const Json& row = document["results"].at(0);
    EXPECT_EQ(row["algorithm"], "ring");
    EXPECT_NE(row["config"].get<std::string>().find("segment_bytes=1K"), std::string::npos);
    EXPECT_EQ(row["source"], "forced");
    EXPECT_EQ(row["wrong"], nullptr);
}

TEST(Bench, AChoiceThatDoesNotApplyIsARowWithAReasonAndAUsageErrorWhenNothingApplies) {
    const ProcessResult some =
        run_bench({"all_reduce", "-n", "2", "-b", "1K", "-e", "1M", "-f", "1024", "--set", "protocol=inline", "--iterations", "2", "--json"});
    EXPECT_EQ(some.code, 0) << some.err;
    const Json document = valid_document(some, "attune.bench.1");
    ASSERT_EQ(document["results"].size(), 4u);
    EXPECT_TRUE(document["results"][0]["time_us"].is_object());
    EXPECT_TRUE(document["results"][2]["time_us"].is_null());
    EXPECT_NE(document["results"][2]["reason"].get<std::string>().find("inline"), std::string::npos);
    const ProcessResult none = run_bench({"all_reduce", "-n", "2", "-b", "1M", "-e", "1M", "--set", "protocol=inline"});
    EXPECT_EQ(none.code, 2);
    EXPECT_NE(none.err.find("nothing was measured"), std::string::npos) << none.err;
}

TEST(Bench, WrongWordsExitWithTwoBeforeAnythingIsPrinted) {
    const std::vector<std::vector<std::string>> wrong = {{"all_redcue"},
                                                         {"all_reduce", "--algorithm", "rign"},
                                                         {"all_reduce", "-d", "flaot32"},
                                                         {"all_reduce", "-o", "summ"},
                                                         {"broadcast", "-n", "2", "-r", "2"},
                                                         {"all_reduce", "--set", "segment_byte=1K"},
                                                         {"all_reduce", "-b", "64KB"},
                                                         {}};
    for (const std::vector<std::string>& words : wrong) {
        const ProcessResult result = run_bench(words);
        EXPECT_EQ(result.code, 2) << (words.empty() ? "" : words.back());
        EXPECT_EQ(result.out, "");
        EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    }
}

TEST(Bench, TheListValidates) {
    const Json document = valid_document(run_bench({"--list", "--json"}), "attune.list.1");
    EXPECT_GT(document["algorithms"].size(), 9u);
    EXPECT_TRUE(document["congestion_controls"].empty());
}

TEST(Bench, SocketsAreListedAndConfiguredWhereThereAreSome) {
    const Json document = valid_document(run_bench({"--list", "--json", "--transport", "tcp"}), "attune.list.1");
    const std::vector<std::string> parameters = document["algorithms"][0]["parameters"];
    EXPECT_NE(std::ranges::find(parameters, "congestion_control"), parameters.end());
    ASSERT_FALSE(document["congestion_controls"].empty());
    const std::string known = "congestion_control=" + document["congestion_controls"][0].get<std::string>();
    const auto run = [](const char* transport, const std::string& choice) {
        return run_bench({"all_reduce", "-n", "2", "-e", "64K", "--iterations", "2", "--transport", transport, "--set", choice, "-c"});
    };
    EXPECT_EQ(run("tcp", known).code, 0);
    EXPECT_EQ(run("tcp", "socket_buffer_bytes=64K").code, 0);
    const ProcessResult unknown = run("tcp", "congestion_control=nobody"), no_sockets = run("shm", known);
    EXPECT_EQ(unknown.code, 2);
    EXPECT_NE(unknown.err.find("the kernels of the ranks offer"), std::string::npos) << unknown.err;
    EXPECT_EQ(no_sockets.code, 2);
    EXPECT_NE(no_sockets.err.find("has no sockets"), std::string::npos) << no_sockets.err;
    for (const ProcessResult& result : {unknown, no_sockets})
        EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
}

TEST(Bench, InsideAJobRankZeroPrintsOneDocument) {
    const std::vector<std::string> words = {
        std::string(ATTUNE_BIN_FOLDER) + "/attune-run", "-n", "3", "--", bench_path(), "all", "-e", "64", "--iterations", "2", "-c", "--json"};
    const ProcessResult result = run_process(words);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(valid_document(result, "attune.bench.1")["ranks"], 3);
    const ProcessResult rows = run_process({words[0], "-n", "2", "--", bench_path(), "--compare", "default,tuned", "--rows"});
    EXPECT_EQ(rows.code, 2) << rows.err;
}

PlantedRow row_of(std::uint64_t count, const char* config) {
    PlantedRow row;
    row.problem.ranks = 2;
    row.problem.count = count;
    row.config = core::Config::parse(config);
    return row;
}

// Thousands of 64-byte segments: slower than the default by far more than any noise.
const char* const far_slower = "algorithm=ring,segment_bytes=64";

TEST(Bench, ATunedRowIsUsedAndSaidToBeProven) {
    const TemporaryFolder folder;
    const std::string path = folder.path() + "/t.attune.db";
    write_planted_release(path, {row_of(256, "algorithm=recursive_doubling")});
    const ProcessResult result =
        run_bench({"all_reduce", "-n", "2", "-b", "1K", "-e", "2K", "-f", "2", "--iterations", "2", "--in-place", "no", "--json", "--db", path});
    EXPECT_EQ(result.code, 0) << result.err;
    const Json document = valid_document(result, "attune.bench.1");
    const Json& tuned = document["results"].at(0);
    EXPECT_EQ(tuned["algorithm"], "recursive_doubling");
    EXPECT_EQ(tuned["source"], "tuned");
    EXPECT_EQ(tuned["match"], "exact");
    EXPECT_EQ(tuned["proven"], true);
    EXPECT_EQ(document["results"].at(1)["source"], "default");
    EXPECT_EQ(document["results"].at(1)["proven"], false);
}

TEST(Bench, ARowThatMakesAJobSlowerIsCaughtWithExitFour) {
    const TemporaryFolder folder;
    const std::string path = folder.path() + "/t.attune.db";
    write_planted_release(path, {row_of(16384, far_slower)});
    const ProcessResult result = run_bench({"--compare", "default,tuned", "--rows", "--db", path, "--json"});
    EXPECT_EQ(result.code, 4) << result.err << result.out;
    const Json document = valid_document(result, "attune.compare.1");
    ASSERT_EQ(document["results"].size(), 1u);
    EXPECT_EQ(document["results"][0]["verdict"], "slower");
    EXPECT_GE(document["results"][0]["launches"], 3);
    EXPECT_GE(document["results"][0]["blocks"], 15);
    EXPECT_GT(document["results"][0]["ci_low"], 1.25);
    EXPECT_EQ(document["summary"]["slower"], 1);
}

TEST(Bench, ComparingWithoutADatabaseFindsEverythingTheSame) {
    const TemporaryFolder folder;
    const ProcessResult result = run_bench({"all_reduce", "--compare", "default,tuned", "-n", "2", "-b", "8", "-e", "64", "--in-place", "no", "--json"},
                                           {.environment = {{"XDG_DATA_HOME", folder.path()}}, .folder = {}, .timeout = std::chrono::seconds(120)});
    EXPECT_EQ(result.code, 0) << result.err;
    const Json document = valid_document(result, "attune.compare.1");
    EXPECT_EQ(document["results"].size(), 2u);
    for (const Json& row : document["results"])
        EXPECT_EQ(row["verdict"], "same");
}

TEST(Bench, TwoChoicesAreComparedWithoutADatabase) {
    const ProcessResult result =
        run_bench({"all_reduce", "--compare", "all_reduce:ring,ring:segment_bytes=64", "-n", "2", "-b", "64K", "-e", "64K", "--in-place", "no", "--json"});
    EXPECT_EQ(result.code, 4) << result.err;
    const Json document = valid_document(result, "attune.compare.1");
    ASSERT_EQ(document["results"].size(), 1u);
    EXPECT_EQ(document["results"][0]["verdict"], "slower");
    EXPECT_NE(document["results"][0]["tuned_config"].get<std::string>().find("segment_bytes=64,"), std::string::npos);
    EXPECT_EQ(run_bench({"all_reduce", "--compare", "ring,broadcast:linear", "-n", "2"}).code, 2);
}

TEST(Bench, RequireModeExitsThreeWithoutARowAndFourForADamagedFile) {
    const TemporaryFolder folder;
    const ProcessOptions require{
        .environment = {{"ATTUNE_DB_MODE", "require"}, {"XDG_DATA_HOME", folder.path()}}, .folder = {}, .timeout = std::chrono::seconds(60)};
    EXPECT_EQ(run_bench({"all_reduce", "-n", "2", "-e", "8", "--db", folder.path() + "/none.attune.db"}, require).code, 3);
    const std::string damaged = folder.path() + "/damaged.attune.db";
    write_planted_release(damaged, {row_of(256, "algorithm=ring")});
    std::fstream(damaged, std::ios::in | std::ios::out | std::ios::binary).seekp(5000).put('!');
    EXPECT_EQ(run_bench({"all_reduce", "-n", "2", "-e", "8", "--db", damaged}, require).code, 4);
    const ProcessResult warned = run_bench({"all_reduce", "-n", "2", "-e", "8", "--iterations", "2", "--db", damaged});
    EXPECT_EQ(warned.code, 0);
    EXPECT_NE(warned.err.find("damaged.attune.db"), std::string::npos) << warned.err;
}

TEST(Bench, RequireModeExitsThreeWhenTheRowsAreForOtherNumbersOfRanks) {
    const TemporaryFolder folder;
    const std::string path = folder.path() + "/two.attune.db";
    write_planted_release(path, {row_of(256, "algorithm=ring")});
    const ProcessOptions require{.environment = {{"ATTUNE_DB_MODE", "require"}}, .folder = {}, .timeout = std::chrono::seconds(60)};
    const ProcessResult five = run_bench({"all_reduce", "-n", "5", "-e", "8", "--iterations", "2", "--db", path}, require);
    EXPECT_EQ(five.code, 3) << five.err;
    EXPECT_NE(five.err.find("proven for 2 ranks, this job has 5"), std::string::npos) << five.err;
    EXPECT_EQ(run_bench({"all_reduce", "-n", "2,5", "-e", "8", "--iterations", "2", "--db", path}, require).code, 0);
    EXPECT_EQ(run_bench({"all_reduce", "-n", "2", "--transport", "local", "-e", "8", "--iterations", "2", "--db", path}, require).code, 3);
}

TEST(Bench, ARetestOfNothingSaysSoAndExitsThree) {
    const TemporaryFolder folder;
    const std::string path = folder.path() + "/two.attune.db";
    write_planted_release(path, {row_of(256, "algorithm=ring")});
    const ProcessResult none = run_bench({"--compare", "default,tuned", "--rows", "-b", "1M", "-e", "2M", "--db", path});
    EXPECT_EQ(none.code, 3);
    EXPECT_EQ(std::count(none.err.begin(), none.err.end(), '\n'), 1) << none.err;
    EXPECT_NE(none.err.find("nothing to re-test"), std::string::npos) << none.err;
    EXPECT_EQ(run_bench({"--compare", "default,tuned", "--rows", "--count", "4", "--db", path}).code, 2);
}

TEST(Bench, AComparisonWithoutItsDatabaseExitsThreeAndWithADamagedOneFour) {
    const TemporaryFolder folder;
    const ProcessResult missing = run_bench({"--compare", "default,tuned", "--rows", "--db", folder.path() + "/none.db"});
    EXPECT_EQ(missing.code, 3);
    EXPECT_EQ(std::count(missing.err.begin(), missing.err.end(), '\n'), 1) << missing.err;
    const std::string damaged = folder.path() + "/damaged.db";
    std::ofstream(damaged) << "no database";
    EXPECT_EQ(run_bench({"--compare", "default,tuned", "--rows", "--db", damaged}).code, 4);
}

TEST(Bench, ContradictionsAndImpossibleNumbersExitWithTwo) {
    const std::vector<std::vector<std::string>> wrong = {{"--iterations", "0"},
                                                         {"-i", "0"},
                                                         {"--count", "4", "-b", "8"},
                                                         {"--algorithm", "ring", "--set", "algorithm=one_shot"},
                                                         {"--set", "socket_buffer_bytes=1K"},
                                                         {"--count", "18446744073709551615"}};
    for (std::vector<std::string> words : wrong) {
        words.insert(words.begin(), {"all_reduce", "-n", "2"});
        EXPECT_EQ(run_bench(words).code, 2) << words.back();
    }
}

TEST(Bench, WrongWordsInTheEnvironmentExitWithTwo) {
    for (const char* name : {"ATTUNE_TRANSPORT", "ATTUNE_TIMEOUT", "ATTUNE_LOG", "ATTUNE_CHECK", "ATTUNE_DB_MODE", "ATTUNE_DB_MIN_GRADE"}) {
        const ProcessOptions options{.environment = {{name, "wrong"}}, .folder = {}, .timeout = std::chrono::seconds(60)};
        EXPECT_EQ(run_bench({"all_reduce", "-n", "2", "-e", "8"}, options).code, 2) << name;
    }
}

}  // namespace
}  // namespace attune::test
