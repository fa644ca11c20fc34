// Programs that link libattune.so, started as users start them, with and without a database.
#include "collectives/catalogue.hpp"
#include "libcore/topology.hpp"
#include "tests/runtime/ring_release.hpp"
#include "tests/support/run_process.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>

namespace attune::test {
namespace {

namespace fs = std::filesystem;

bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

std::size_t lines_with(const std::string& text, std::string_view part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++count;
    return count;
}

// No database but the one named: the default paths lead into an empty folder.
class RuntimeTest : public testing::Test {
protected:
    ProcessResult on_ranks(int ranks, const std::string& program, std::vector<std::pair<std::string, std::string>> environment = {}) {
        ProcessOptions options;
        options.environment = std::move(environment);
        options.environment.emplace_back("XDG_DATA_HOME", folder_.path());
        options.folder = folder_.path();
        return run_process({ATTUNE_RUN, "-n", std::to_string(ranks), "--", program}, options);
    }
    std::string file(const std::string& name) const { return folder_.path() + "/" + name; }

    TemporaryFolder folder_;
};

TEST_F(RuntimeTest, EveryCallOfTheHeaderIsRight) {
    for (const int ranks : {1, 2, 3, 5, 8}) {
        const ProcessResult result = on_ranks(ranks, ATTUNE_RUNTIME_PROGRAM);
        EXPECT_EQ(result.code, 0) << ranks << " ranks: " << result.err;
    }
}

TEST_F(RuntimeTest, CheckedCallsAreRightToo) {
    const ProcessResult result = on_ranks(3, ATTUNE_RUNTIME_PROGRAM, {{"ATTUNE_CHECK", "1"}});
    EXPECT_EQ(result.code, 0) << result.err;
}

TEST_F(RuntimeTest, AProgramWithoutALauncherIsAlone) {
    const ProcessResult result = run_process({ATTUNE_EXAMPLE}, {.environment = {{"XDG_DATA_HOME", folder_.path()}}, .folder = ""});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_TRUE(contains(result.out, "1 ranks, database: none")) << result.out;
}

TEST_F(RuntimeTest, TheExampleSaysWhatItRunsAndWhy) {
    publish_ring(file("tuned.attune.db"), this_machine());
    const ProcessResult result = on_ranks(2, ATTUNE_EXAMPLE, {{"ATTUNE_DB", file("tuned.attune.db")}});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    EXPECT_TRUE(contains(result.out, "2 ranks, database: " + file("tuned.attune.db"))) << result.out;
    EXPECT_EQ(lines_with(result.out, "tuned    exact     1.25      0  algorithm=ring"), 2U) << result.out;
    EXPECT_EQ(lines_with(result.out, "default  none"), 6U) << result.out;
}

TEST_F(RuntimeTest, WithTheDatabaseOffOrForAnotherMachineDefaultsRun) {
    publish_ring(file("tuned.attune.db"), this_machine());
    const ProcessResult off = on_ranks(2, ATTUNE_EXAMPLE, {{"ATTUNE_DB", file("tuned.attune.db")}, {"ATTUNE_DB_MODE", "off"}});
    EXPECT_EQ(lines_with(off.out, "default  none"), 8U) << off.out;
    core::Topology other = core::discover_topology();
    other.cpu_vendor = "NobodysChips";
    publish_ring(file("other.attune.db"), db::identity_of(other));
    const ProcessResult foreign = on_ranks(2, ATTUNE_EXAMPLE, {{"ATTUNE_DB", file("other.attune.db")}});
    EXPECT_EQ(foreign.code, 0);
    EXPECT_EQ(lines_with(foreign.out, "default  none"), 8U) << foreign.out;
    EXPECT_EQ(lines_with(foreign.err, "other.attune.db"), 1U) << foreign.err;
}

TEST_F(RuntimeTest, AMissingOrDamagedReleaseIsOneWarning) {
    const ProcessResult missing = on_ranks(3, ATTUNE_EXAMPLE, {{"ATTUNE_DB", file("absent.db")}});
    EXPECT_EQ(missing.code, 0);
    EXPECT_EQ(lines_with(missing.err, "\n"), 1U) << missing.err;
    EXPECT_TRUE(contains(missing.err, "absent.db")) << missing.err;
    publish_ring(file("cut.db"), this_machine());
    fs::resize_file(file("cut.db"), fs::file_size(file("cut.db")) - 100);
    const ProcessResult damaged = on_ranks(3, ATTUNE_EXAMPLE, {{"ATTUNE_DB", file("cut.db")}});
    EXPECT_EQ(damaged.code, 0);
    EXPECT_EQ(lines_with(damaged.err, "\n"), 1U) << damaged.err;
    EXPECT_TRUE(contains(damaged.err, "cut.db: truncated")) << damaged.err;
}

TEST_F(RuntimeTest, RequireEndsTheExampleWithItsCode) {
    const ProcessResult missing = on_ranks(2, ATTUNE_EXAMPLE, {{"ATTUNE_DB", file("absent.db")}, {"ATTUNE_DB_MODE", "require"}});
    EXPECT_EQ(missing.code, 3) << missing.err;
    publish_ring(file("cut.db"), this_machine());
    fs::resize_file(file("cut.db"), fs::file_size(file("cut.db")) - 100);
    const ProcessResult damaged = on_ranks(2, ATTUNE_EXAMPLE, {{"ATTUNE_DB", file("cut.db")}, {"ATTUNE_DB_MODE", "require"}});
    EXPECT_EQ(damaged.code, 4) << damaged.err;
    publish_ring(file("good.db"), this_machine());
    const ProcessResult good = on_ranks(2, ATTUNE_EXAMPLE, {{"ATTUNE_DB", file("good.db")}, {"ATTUNE_DB_MODE", "require"}});
    EXPECT_EQ(good.code, 0) << good.err;
}

TEST_F(RuntimeTest, RowsForOtherRanksAreKeptWithoutAWordButDoNotSatisfyRequire) {
    publish_ring(file("two.db"), this_machine());
    const ProcessResult required = on_ranks(3, ATTUNE_EXAMPLE, {{"ATTUNE_DB", file("two.db")}, {"ATTUNE_DB_MODE", "require"}});
    EXPECT_EQ(required.code, 3) << required.err;
    EXPECT_TRUE(contains(required.err, "1 of 1 row skipped: proven for 2 ranks, this job has 3")) << required.err;
    const ProcessResult used = on_ranks(3, ATTUNE_EXAMPLE, {{"ATTUNE_DB", file("two.db")}, {"ATTUNE_LOG", "info"}});
    EXPECT_EQ(used.code, 0) << used.err;
    EXPECT_FALSE(contains(used.err, "skipped")) << used.err;
}

TEST_F(RuntimeTest, ForcedChoicesAreShownAndImpossibleOnesExitTwo) {
    const ProcessResult forced = on_ranks(3, ATTUNE_EXAMPLE, {{"ATTUNE_FORCE", "all_reduce=ring"}});
    EXPECT_EQ(forced.code, 0) << forced.err;
    EXPECT_EQ(lines_with(forced.out, "forced   none      1.00      0  algorithm=ring"), 8U) << forced.out;
    const ProcessResult impossible = on_ranks(3, ATTUNE_EXAMPLE, {{"ATTUNE_FORCE", "all_reduce=protocol=inline"}});
    EXPECT_EQ(impossible.code, 2) << impossible.err;
    EXPECT_TRUE(contains(impossible.err, "is impossible")) << impossible.err;
    const ProcessResult wrong = on_ranks(2, ATTUNE_EXAMPLE, {{"ATTUNE_FORCE", "all_reduce=rinq"}});
    EXPECT_EQ(wrong.code, 2);
    EXPECT_TRUE(contains(wrong.err, "did you mean 'ring'?")) << wrong.err;
}

TEST_F(RuntimeTest, AWrongWordForcedOnAnyCollectiveExitsTwoBeforeACall) {
    for (const collectives::Collective collective : collectives::all_collectives()) {
        const std::string name(name_of(collective));
        const ProcessResult wrong = on_ranks(2, ATTUNE_EXAMPLE, {{"ATTUNE_FORCE", "all_reduce=ring;" + (name == "all_reduce" ? "" : name) + "=quick"}});
        EXPECT_EQ(wrong.code, 2) << name << ": " << wrong.err;
        const ProcessResult axis = on_ranks(2, ATTUNE_EXAMPLE, {{"ATTUNE_FORCE", name + "=segment_byte=1K"}});
        EXPECT_EQ(axis.code, 2) << name;
        EXPECT_TRUE(contains(axis.err, "did you mean 'segment_bytes'?")) << axis.err;
    }
    for (const char* text : {"all_redcue=ring", "all_reduce", "all_reduce=", "all_reduce=ring;all_reduce=one_shot", "all_reduce=ring,ring"})
        EXPECT_EQ(on_ranks(2, ATTUNE_EXAMPLE, {{"ATTUNE_FORCE", text}}).code, 2) << text;
}

TEST_F(RuntimeTest, AForcedChoiceThatDoesNotApplyExitsTwoWithItsReason) {
    for (const auto& [forced, reason] :
         std::vector<std::pair<std::string, std::string>>{{"gather_v=linear,segment_bytes=64K", "segment_bytes=65536 does not apply to linear"},
                                                          {"barrier=one_shot,segment_bytes=64K", "segment_bytes=65536 does not apply to one_shot"}}) {
        const ProcessResult result = on_ranks(3, ATTUNE_EVERY_CALL_PROGRAM, {{"ATTUNE_FORCE", forced}});
        EXPECT_EQ(result.code, 2) << forced;
        EXPECT_TRUE(contains(result.err, "is impossible: " + reason)) << result.err;
    }
}

TEST_F(RuntimeTest, WrongWordsInTheEnvironmentExitTwo) {
    for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{{"ATTUNE_DB_MODE", "sometimes"},
                                                                                      {"ATTUNE_DB_MIN_GRADE", "nearest"},
                                                                                      {"ATTUNE_DB_MIN_GRADE", "exakt"},
                                                                                      {"ATTUNE_LOG", "loud"},
                                                                                      {"ATTUNE_CHECK", "maybe"},
                                                                                      {"ATTUNE_TIMEOUT", "soon"},
                                                                                      {"ATTUNE_TRANSPORT", "pigeon"}}) {
        const ProcessResult result = on_ranks(2, ATTUNE_EXAMPLE, {{name, value}});
        EXPECT_EQ(result.code, 2) << name << ": " << result.err;
        EXPECT_TRUE(contains(result.err, value)) << result.err;
    }
}

TEST_F(RuntimeTest, InfoPrintsOneSummaryThatNamesTheCommandToTune) {
    const ProcessResult result = on_ranks(2, ATTUNE_EXAMPLE, {{"ATTUNE_LOG", "info"}});
    EXPECT_EQ(result.code, 0);
    EXPECT_EQ(lines_with(result.err, "\n"), 1U) << result.err;
    EXPECT_TRUE(contains(result.err, "attune: info: 16 calls: 0 % exact, 0 % interval, 100 % default, 0 % forced; costliest on the default: ")) << result.err;
    EXPECT_TRUE(contains(result.err, "to tune: attune-tune all_reduce -n 2 -b ")) << result.err;
    // Which calls cost most depends on the machine: the large ones, or the small ones that count mistakes when a rank had to wait.
    const bool large = !contains(result.err, "costliest on the default: all_reduce 8 B int64 sum in place (");
    EXPECT_TRUE(contains(result.err, large ? " -d float32 -o sum --in-place no" : " -b 8 -e 8 -d int64 -o sum --in-place yes")) << result.err;
}

TEST_F(RuntimeTest, EveryRankWritesItsOwnTrace) {
    const ProcessResult result = on_ranks(2, ATTUNE_EXAMPLE, {{"ATTUNE_TRACE", file("trace.json")}});
    EXPECT_EQ(result.code, 0) << result.err;
    for (const char* rank : {".0", ".1"}) {
        std::ifstream in(file("trace.json") + rank);
        const std::string text((std::istreambuf_iterator<char>(in)), {});
        EXPECT_EQ(lines_with(text, "\"name\":\"all_reduce\""), 16U) << text;
    }
}

TEST_F(RuntimeTest, WhatScriptsStartedEndsWithAJobThatFails) {
    const std::string script = "[ \"$ATTUNE_RANK\" = 1 ] && exit 9; sleep 600 & echo $! > pid.$ATTUNE_RANK; wait";
    const ProcessResult result = run_process({ATTUNE_RUN, "-n", "3", "--", "sh", "-c", script}, {.environment = {}, .folder = file("")});
    EXPECT_EQ(result.code, 9) << result.err;
    for (const char* rank : {"0", "2"}) {
        std::ifstream in(file(std::string("pid.") + rank));
        pid_t pid = 0;
        ASSERT_TRUE(in >> pid);
        EXPECT_NE(::kill(pid, 0), 0) << "process " << pid << " of rank " << rank << " lives on";
    }
}

TEST_F(RuntimeTest, LauncherVariablesSetByHandAreExplained) {
    const ProcessResult some = run_process({ATTUNE_EXAMPLE}, {.environment = {{"ATTUNE_RANK", "0"}}, .folder = ""});
    EXPECT_EQ(some.code, 2);
    EXPECT_TRUE(contains(some.err, "attune-run")) << some.err;
    const ProcessResult all =
        run_process({ATTUNE_EXAMPLE}, {.environment = {{"ATTUNE_RANK", "0"}, {"ATTUNE_RANKS", "2"}, {"ATTUNE_LAUNCH_FD", "77"}}, .folder = ""});
    EXPECT_EQ(all.code, 1);
    EXPECT_TRUE(contains(all.err, "not connected to a launcher")) << all.err;
}

TEST_F(RuntimeTest, TwoCommunicatorsOfAProcessShareItsTrace) {
    const ProcessResult result = on_ranks(2, ATTUNE_RUNTIME_PROGRAM, {{"ATTUNE_TRACE", file("trace.json")}});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_TRUE(fs::exists(file("trace.json.0")) && !fs::exists(file("trace.json.0.1")));
}

TEST_F(RuntimeTest, LostOutputOfTaggedRanksIsAFailure) {
    const std::string lost = ATTUNE_RUN " -n 2 --tag-output -- echo hello > /dev/full";
    const ProcessResult result = run_process({"sh", "-c", lost}, {.environment = {}, .folder = folder_.path()});
    EXPECT_EQ(result.code, 1) << result.err;
    EXPECT_TRUE(contains(result.err, "cannot write the output of rank ")) << result.err;
    EXPECT_TRUE(contains(result.err, "No space left on device")) << result.err;
}

TEST_F(RuntimeTest, DifferentDatabasesOnRanksAreOneWarning) {
    const std::string script = "[ $ATTUNE_RANK = 1 ] && export ATTUNE_DB_MODE=off; exec " ATTUNE_EXAMPLE;
    const ProcessResult result =
        run_process({ATTUNE_RUN, "-n", "2", "--", "sh", "-c", script}, {.environment = {{"XDG_DATA_HOME", folder_.path()}}, .folder = folder_.path()});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(lines_with(result.err, "rank 1 would use the database none (ATTUNE_DB_MODE=off), rank 0 none"), 1U) << result.err;
}

TEST_F(RuntimeTest, ADatabaseThatOnlyRankOneSeesIsNamed) {
    const std::string path = file("attune/attune.db");
    publish_ring(path, this_machine());
    const std::string script = "[ $ATTUNE_RANK = 0 ] && export XDG_DATA_HOME=" + folder_.path() + "/empty; exec " ATTUNE_EXAMPLE;
    const ProcessResult result =
        run_process({ATTUNE_RUN, "-n", "2", "--", "sh", "-c", script}, {.environment = {{"XDG_DATA_HOME", folder_.path()}}, .folder = folder_.path()});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(lines_with(result.err, "rank 1 would use the database " + path + ", rank 0 none"), 1U) << result.err;
}

}  // namespace
}  // namespace attune::test
