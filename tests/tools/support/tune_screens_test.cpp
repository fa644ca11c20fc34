#include "apps/tools/support/tune_screens.hpp"

#include "apps/tools/support/disturbance.hpp"
#include "libcore/error.hpp"
#include "tuner/ladder.hpp"

#include <gtest/gtest.h>

namespace attune::tools {
namespace {

TuneOptions small_options() {
    TuneOptions options;
    options.collectives = {"all_reduce", "broadcast"};
    options.ranks = 2;
    options.sizes.max_bytes = 512;
    options.db = "/nowhere/x.attune.db";
    return options;
}

core::Key key_of(const std::string& collective) {
    core::Key key;
    key.collective = collective;
    key.dtype_class = collective == "broadcast" ? "bytes" : "float32";
    key.op = collective == "broadcast" ? "none" : "sum";
    key.ranks = 2;
    key.node_map = "1x2";
    key.transport = "shm";
    return key;
}

// all_reduce 64 B is proven, its other sizes and broadcast 8 B are not, the rest was not reached.
tuner::SessionResult small_result(const TunePlan& plan) {
    tuner::SessionResult result;
    result.run = "run";
    result.trials = 7;
    result.published = true;
    result.released_at = plan.release_path;
    for (const auto& problem : plan.session.problems) {
        result.keys.push_back(key_of(std::string(collectives::name_of(problem.collective))));
        result.searched.push_back(problem.collective == collectives::Collective::all_reduce || problem.bytes() == 8);
    }
    db::ReleaseRow row;
    row.row.key = key_of("all_reduce");
    row.row.low_bytes = row.row.high_bytes = 64;
    row.row.gain = 1.424, row.row.gain_low = 1.38, row.row.gain_high = 1.466;
    result.selection.rows.push_back(row);
    return result;
}

TEST(GridOfARun, ShowsProvenGainsSameAndWhatWasNotMeasured) {
    const auto plan = plan_tune(small_options());
    const auto grid = grid_of(plan, small_result(plan));
    EXPECT_NE(grid_text(grid).find("1.42x [1.38,1.47]"), std::string::npos) << grid_text(grid);
    ASSERT_EQ(grid.titles, (std::vector<std::string>{"all_reduce", "broadcast"}));
    ASSERT_EQ(grid.sizes.size(), 3u);
    EXPECT_TRUE(grid.sizes.at(64).at(0).proven);
    EXPECT_FALSE(grid.sizes.at(8).at(0).proven);
    EXPECT_FALSE(grid.sizes.at(8).at(1).proven);
    EXPECT_FALSE(grid.sizes.at(64).contains(1));
}

TEST(GridOfARun, ShowsTheOwnGainOfASizeInsideAnInterval) {
    const auto plan = plan_tune(small_options());
    auto result = small_result(plan);
    auto& row = result.selection.rows.front().row;
    row.low_bytes = 8, row.high_bytes = 512;
    tuner::TestedPoint point;
    point.key = row.key;
    point.bytes = 512;
    point.gain = 3, point.low = 2.5, point.high = 3.5;
    result.selection.proven.push_back(point);
    const auto grid = grid_of(plan, result);
    EXPECT_DOUBLE_EQ(grid.sizes.at(512).at(0).gain, 3);
    EXPECT_DOUBLE_EQ(grid.sizes.at(8).at(0).gain, row.gain);
}

TEST(GridOfARun, ARowThatFellInARecheckIsTheSame) {
    const auto plan = plan_tune(small_options());
    auto result = small_result(plan);
    result.selection.rows.clear();
    result.searched.clear();
    tuner::TestedPoint point;
    point.key = key_of("all_reduce");
    point.bytes = 64;
    point.reason = "not proven";
    result.selection.rejected.push_back(point);
    const auto grid = grid_of(plan, result);
    ASSERT_TRUE(grid.sizes.at(64).contains(0));
    EXPECT_FALSE(grid.sizes.at(64).at(0).proven);
    EXPECT_FALSE(grid.sizes.at(8).contains(0));
}

TEST(LastScreen, NamesTheDatabaseAndThreeCommands) {
    const auto plan = plan_tune(small_options());
    const auto text = last_screen(plan, small_result(plan), Paint(false));
    EXPECT_NE(text.find("database: /nowhere/x.attune.db"), std::string::npos);
    for (const auto* command : {"attune-bench --compare default,tuned --rows --db /nowhere/x.attune.db", "attune-lookup all_reduce 512 -n 2 --explain",
                                "attune-run -n 2 -x ATTUNE_DB=/nowhere/x.attune.db -- your program"})
        EXPECT_NE(text.find(command), std::string::npos) << text;
}

TEST(LastScreen, SaysHowManyTestedSizesAreNotInTheGrid) {
    const auto plan = plan_tune(small_options());
    auto result = small_result(plan);
    for (const std::uint64_t bytes : {64U, 128U}) {
        tuner::TestedPoint point;
        point.key = key_of("all_reduce");
        point.run = result.run;
        point.bytes = bytes;
        result.selection.proven.push_back(point);
    }
    const auto text = last_screen(plan, result, Paint(false));
    EXPECT_NE(text.find("2 sizes re-tested (1 between those above), 2 of them proven"), std::string::npos) << text;
}

TEST(LastScreen, ShortensLongListsOfFailures) {
    const auto plan = plan_tune(small_options());
    auto result = small_result(plan);
    result.failures.resize(9);
    EXPECT_NE(last_screen(plan, result, Paint(false)).find("... and 4 more"), std::string::npos);
}

TEST(FirstScreen, SaysWhatItWillDoAndWhatDisturbs) {
    const auto plan = plan_tune(small_options());
    const auto text = first_screen(plan, 42, {"too warm: open a window"}, Paint(false));
    for (const auto* part :
         {"ranks       2 over shm", "candidates  42", "budget      2 min 0 s", "/nowhere/x.attune.db", "/nowhere/x.attune.journal", "warning: too warm"})
        EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(ResumeCommand, RepeatsTheWordsQuotedAndAsksOnceToResume) {
    EXPECT_EQ(resume_command({"all_reduce", "-n", "4"}), "attune-tune all_reduce -n 4 --resume");
    EXPECT_EQ(resume_command({"--resume"}), "attune-tune --resume");
    EXPECT_EQ(resume_command({"--db", "my file's.db"}), "attune-tune --db 'my file'\\''s.db' --resume");
}

TEST(TuneJson, HasTheDocumentedFields) {
    const auto plan = plan_tune(small_options());
    const auto document = tune_json(plan, small_result(plan));
    EXPECT_EQ(document["schema"], "attune.tune/1");
    EXPECT_EQ(document["trials"], 7);
    ASSERT_EQ(document["rows"].size(), 1u);
    for (const auto* field : {"key", "config", "gain", "ci_low", "ci_high", "complete"})
        EXPECT_TRUE(document["rows"][0].contains(field)) << field;
    EXPECT_TRUE(document["failures"].is_array());
}

TEST(PlanTune, KeepsTheTestDefaultOutOfTheDefaultDatabase) {
    auto options = small_options();
    options.candidate_zero = {"all_reduce:ring"};
    EXPECT_EQ(plan_tune(options).target.candidate_zero.size(), 1u);
    EXPECT_NE(plan_tune(options).session.description, plan_tune(small_options()).session.description);
    options.db.reset();
    try {
        plan_tune(options);
        FAIL();
    } catch (const core::Error& error) {
        EXPECT_EQ(error.code(), core::ErrorCode::usage);
        EXPECT_NE(std::string(error.what()).find("--db"), std::string::npos);
    }
}

TEST(PlanTune, TheJournalLiesBesideTheRelease) {
    auto options = small_options();
    EXPECT_EQ(plan_tune(options).journal_path, "/nowhere/x.attune.journal");
    options.journal = "/elsewhere/y";
    EXPECT_EQ(plan_tune(options).journal_path, "/elsewhere/y");
}

TEST(PlanTune, TheDefaultIsFourCollectivesAndEightSizes) {
    TuneOptions options;
    options.db = "/nowhere/x.attune.db";
    const auto plan = plan_tune(options);
    EXPECT_EQ(plan.collectives.size(), 4u);
    EXPECT_EQ(plan.sizes.size(), 8u);
    EXPECT_EQ(plan.session.problems.size(), 32u);
}

TEST(PlanTune, ABarrierIsOneProblemAndOneRow) {
    auto options = small_options();
    options.collectives = {"barrier"};
    const auto plan = plan_tune(options);
    EXPECT_EQ(plan.session.problems.size(), 1u);
    EXPECT_EQ(plan.sizes.size(), 1u);
}

TEST(FirstScreen, ShowsABudgetBelowASecond) {
    auto options = small_options();
    options.budget_ns = 100'000'000;
    EXPECT_NE(first_screen(plan_tune(options), 42, {}, Paint(false)).find("budget      100 ms"), std::string::npos);
}

TEST(Disturbances, NameTheCauseAndTheRemedy) {
    EXPECT_TRUE(disturbances({.ranks = 2, .allowed_cpus = 2, .load = 0.1}).empty());
    const auto crowded = disturbances({.ranks = 4, .allowed_cpus = 2, .load = std::nullopt});
    ASSERT_EQ(crowded.size(), 1u);
    EXPECT_NE(crowded.front().find("-n 2"), std::string::npos);
    const auto busy = disturbances({.ranks = 2, .allowed_cpus = 2, .load = 1.5});
    ASSERT_EQ(busy.size(), 1u);
    EXPECT_NE(busy.front().find("load average 1.5 on 2 CPUs"), std::string::npos);
}

TEST(ParseLoad, ReadsTheFirstNumber) {
    EXPECT_DOUBLE_EQ(parse_load("0.42 0.30 0.28 1/123 4567").value(), 0.42);
    EXPECT_FALSE(parse_load(""));
    EXPECT_FALSE(parse_load("busy"));
}

}  // namespace
}  // namespace attune::tools
