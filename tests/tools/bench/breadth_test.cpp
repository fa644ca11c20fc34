// What attune-bench does beyond timing plain collectives: roots, amounts, patterns, output forms, options of other benchmarks.
#include "tests/support/approved.hpp"
#include "tests/support/valid_document.hpp"
#include "tests/tools/bench/run_bench.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace attune::test {
namespace {

using Json = nlohmann::json;

TEST(BenchBreadth, EveryRootOfARootedCollectiveIsExact) {
    for (const char* transport : {"shm", "local"}) {
        const ProcessResult result = run_bench({"broadcast", "reduce", "gather", "scatter", "gather_v", "scatter_v", "-n", "5", "-r", "all", "--transport",
                                                transport, "--count", "0,1,2,97", "--iterations", "1", "-c", "--json"});
        EXPECT_EQ(result.code, 0) << result.err;
        const Json document = valid_document(result, "attune.bench.1");
        EXPECT_EQ(document["results"].size(), (4 * 2 + 2) * 5 * 4u);
        for (const Json& row : document["results"])
            EXPECT_EQ(row["wrong"], 0) << row;
    }
}

TEST(BenchBreadth, EveryAmountOfTheVFormsIsExact) {
    for (const char* amounts : {"balanced", "uneven", "one-hot", "zero"}) {
        const ProcessResult result = run_bench(
            {"all_to_all_v", "all_gather_v", "reduce_scatter_v", "gather_v",     "scatter_v", "-n", "4",     "-b", "0", "-e", "64K", "-f", "32", "--amounts",
             amounts,        "-d",           "int8,float64",     "--iterations", "1",         "-c", "--json"});
        EXPECT_EQ(result.code, 0) << amounts << result.err;
        for (const Json& row : valid_document(result, "attune.bench.1")["results"]) {
            EXPECT_EQ(row["wrong"], 0) << row;
            EXPECT_EQ(row["shape"], amounts);
        }
    }
}

TEST(BenchBreadth, EveryPatternOfMessagesIsTimedAndExact) {
    for (const char* pattern : {"ring", "ping_pong", "stream", "bidirectional", "rate", "pairs"}) {
        for (const char* ranks : {"1", "2", "5"}) {
            const ProcessResult result =
                run_bench({"send_recv", "-n", ranks, "--pattern", pattern, "-b", "8", "-e", "64K", "-f", "64", "--iterations", "20", "-c", "--json"});
            EXPECT_EQ(result.code, 0) << pattern << result.err;
            for (const Json& row : valid_document(result, "attune.bench.1")["results"]) {
                EXPECT_EQ(row["wrong"], 0) << row;
                EXPECT_EQ(row["shape"], pattern);
                EXPECT_GT(row["messages_per_s"], 0);
            }
        }
    }
}

TEST(BenchBreadth, TimesOfRanksAndTheLimitAreInEveryRow) {
    const ProcessResult result =
        run_bench({"all_reduce", "-n", "3", "-b", "0", "-e", "64", "--iterations", "5", "--per-rank", "--skew", "one-late:50us", "--json"});
    EXPECT_EQ(result.code, 0) << result.err;
    const Json document = valid_document(result, "attune.bench.1");
    EXPECT_EQ(document["skew"], "one-late:50us");
    for (const Json& row : document["results"]) {
        EXPECT_EQ(row["rank_us"].size(), 3u);
        EXPECT_EQ(row["batch"], 1);
        EXPECT_EQ(row["limit_us"].is_null(), row["bytes"] == 0) << row;
    }
}

TEST(BenchBreadth, MarkdownIsWrittenAndThePlotFollowsTheTable) {
    const TemporaryFolder folder;
    const std::string path = folder.path() + "/table.md";
    const ProcessResult result = run_bench({"all_reduce", "-n", "2", "-b", "8", "-e", "4K", "--iterations", "2", "--export-markdown", path, "--plot"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_NE(result.out.find("all_reduce: time over size"), std::string::npos) << result.out;
    EXPECT_EQ(result.out.find('\033'), std::string::npos);
    std::ifstream file(path);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_NE(text.find("## all_reduce"), std::string::npos) << text;
    EXPECT_EQ(run_bench({"all_reduce", "-n", "2", "--export-markdown", folder.path() + "/no/such/folder.md"}).code, 1);
}

TEST(BenchBreadth, OptionsOfOtherBenchmarksAreRefusedWithWhatToWriteInstead) {
    const std::vector<std::pair<std::vector<std::string>, std::string>> foreign = {{{"-g", "8"}, "-n RANKS"},
                                                                                   {{"-t", "2"}, "-n RANKS"},
                                                                                   {{"-m", "4"}, "batch"},
                                                                                   {{"-N", "0"}, "--iterations"},
                                                                                   {{"-z", "1"}, "--mode streaming"},
                                                                                   {{"-a", "3"}, "--per-rank"},
                                                                                   {{"-p", "1"}, "-n RANKS"},
                                                                                   {{"-T", "60"}, "--timeout"},
                                                                                   {{"-J", "out.json"}, "--json"},
                                                                                   {{"-c", "1"}, "-c takes no"},
                                                                                   {{"--iters", "20"}, "--iterations"},
                                                                                   {{"--minbytes", "8"}, "--min-bytes"},
                                                                                   {{"-x", "3"}, "--warm-up"},
                                                                                   {{"-k", "fixed:1"}, "--roots"},
                                                                                   {{"-l"}, "--in-place"},
                                                                                   {{"-u", "1"}, "--cache"},
                                                                                   {{"-W", "64"}, "--pattern"},
                                                                                   {{"-F", "x"}, "--csv"},
                                                                                   {{"-npmin", "2"}, "-n RANKS"},
                                                                                   {{"-msglog", "3:4"}, "--min-bytes"},
                                                                                   {{"-iter", "3"}, "--iterations"},
                                                                                   {{"-off_cache", "1"}, "--cache rotate"},
                                                                                   {{"-sync", "0"}, "--mode streaming"}};
    for (const auto& [words, remedy] : foreign) {
        std::vector<std::string> line = {"all_reduce"};
        line.insert(line.end(), words.begin(), words.end());
        const ProcessResult result = run_bench(line);
        EXPECT_EQ(result.code, 2) << words.front();
        EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
        EXPECT_NE(result.err.find(remedy), std::string::npos) << words.front() << ": " << result.err;
    }
}

// The first column of the tables in docs/bench.md names our options; those of other benchmarks stand in the other columns.
TEST(BenchBreadth, EveryOptionThatThePageNamesExists) {
    const std::string help = run_bench({"--help"}).out;
    std::ifstream page(std::string(ATTUNE_DOCS_FOLDER) + "/bench.md");
    std::size_t found = 0;
    for (std::string line; std::getline(page, line);) {
        if (!line.starts_with("| `") && !line.starts_with("- **`-")) continue;
        const std::string column = line.starts_with("|") ? line.substr(2, line.find(" |", 2) - 2) : line.substr(0, line.find("**", 4));
        for (std::size_t at = column.find("`-"); at != std::string::npos; at = column.find("`-", at + 2)) {
            const std::string name = column.substr(at + 1, column.find_first_of(" `", at + 2) - at - 1);
            EXPECT_NE(help.find(name), std::string::npos) << name << " of: " << line;
            ++found;
        }
    }
    EXPECT_GT(found, 30u);
}

// Values depend on the machine, the rest of the table does not.
TEST(Golden, TheTableOfARunIsTheApprovedOne) {
    const ProcessResult result =
        run_bench({"all_reduce", "reduce", "send_recv", "barrier", "-n", "1", "-b", "0", "-e", "64", "--iterations", "2", "-c", "--per-rank"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(approved("bench_run.txt", blotted(result.out.substr(result.out.find("#\n")))), "");
}

}  // namespace
}  // namespace attune::test
