// Which rows several runs leave behind together.
#include "tests/tuner/publish_trials.hpp"
#include "tuner/publish.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace attune::tuner {
namespace {

TEST(SelectRows, ARecheckSupersedesOlderProbesBetweenItsSizes) {
    std::vector<db::Trial> trials;
    for (const std::uint64_t bytes : {64u, 128u, 512u, 4096u})
        append(trials, {.bytes = bytes});
    const std::size_t first = trials.size();
    for (const std::uint64_t bytes : {64u, 512u})
        append(trials, {.run = "run-2", .bytes = bytes, .gain = 1.0});
    for (std::size_t i = first; i < trials.size(); ++i)
        if (trials[i].phase == "confirm") trials[i].phase = "recheck";
    const auto selection = select(trials);
    ASSERT_EQ(selection.rows.size(), 1u) << "64 and 512 fell, 128 with them";
    EXPECT_EQ(selection.rows.front().row.low_bytes, 4096u) << "not put to the test again";
    EXPECT_EQ(selection.rejected.size(), 2u);
}

TEST(SelectRows, TheLatestRunOfAProblemDecidesAlone) {
    std::vector<db::Trial> trials;
    append(trials, {});
    append(trials, {.run = "run-2", .gain = 1.0});
    EXPECT_TRUE(select(trials).rows.empty()) << "the newer run could not repeat the gain";
    append(trials, {.run = "run-3", .launches = 2, .blocks = 8});
    EXPECT_EQ(only_reason(select(trials)), "2 launches, 3 needed") << "launches of older runs are not pooled";
    PublishOptions options;
    options.run = "run-1";
    EXPECT_EQ(select(trials, options).rows.size(), 1u);
}

// The search of a later run may favour another config; that this one fails its re-test says nothing about the one that was proven before.
TEST(SelectRows, AnotherConfigThatFailsLaterTakesNoRow) {
    const core::Config two_shot = core::Config::parse("algorithm=two_shot");
    std::vector<db::Trial> trials;
    for (const std::uint64_t bytes : {64U, 180U, 380U, 512U})
        append(trials, {.bytes = bytes});
    append(trials, {.run = "run-2", .bytes = 512, .config = two_shot, .gain = 1.0});
    append(trials, {.run = "run-3", .bytes = 180, .config = two_shot, .gain = 0.8});
    const Selection kept = select(trials);
    ASSERT_EQ(kept.rows.size(), 1U);
    EXPECT_EQ(kept.rows.front().row.config, ring);
    EXPECT_EQ(kept.rows.front().row.low_bytes, 64U);
    EXPECT_EQ(kept.rows.front().row.high_bytes, 512U);
    EXPECT_EQ(kept.proven.size(), 4U);
    EXPECT_EQ(kept.rejected.size(), 2U);
    append(trials, {.run = "run-4", .bytes = 512, .gain = 1.0});
    const Selection refuted = select(trials);
    EXPECT_EQ(refuted.proven.size(), 3U) << "its own re-test failed";
    EXPECT_TRUE(std::ranges::none_of(refuted.rows, [](const auto& row) { return row.row.high_bytes >= 512; }));
}

TEST(SelectRows, AnotherConfigThatIsProvenLaterTakesTheRow) {
    std::vector<db::Trial> trials;
    append(trials, {.gain = 1.9});
    append(trials, {.run = "run-2", .config = core::Config::parse("algorithm=two_shot"), .gain = 1.4});
    const Selection selection = select(trials);
    ASSERT_EQ(selection.rows.size(), 1U);
    EXPECT_EQ(selection.rows.front().row.config.algorithm(), "two_shot");
    EXPECT_EQ(selection.proven.size(), 1U);
    EXPECT_TRUE(selection.rejected.empty());
}

TEST(SelectRows, ARunOfOtherSizesKeepsTheRowsOfAnEarlierOne) {
    std::vector<db::Trial> trials;
    append(trials, {});
    append(trials, {.run = "run-2", .bytes = 4096});
    EXPECT_EQ(select(trials).rows.size(), 2u);
}

TEST(KeepUntestedRows, KeepsWhatWasNeitherTestedNorOverlapped) {
    db::ReleaseContent existing;
    const auto add = [&](std::uint64_t low, std::uint64_t high, db::Identity whose) {
        db::ReleaseRow row;
        row.identity = std::move(whose);
        row.row.key = key_of_all_reduce();
        row.row.low_bytes = low, row.row.high_bytes = high;
        row.evidence.cut_set = "old";
        existing.rows.push_back(row);
    };
    existing.cuts = {{"old", {250}}, {"unused", {300}}};
    add(8, 8, identity());
    add(64, 64, identity());
    add(512, 4096, identity());
    add(8192, 8192, {{{"cpu_vendor", "another"}}});
    Selection selection;
    TestedPoint point;
    point.key = key_of_all_reduce();
    point.bytes = 64;
    selection.rejected.push_back(point);
    point.bytes = 1024;
    selection.proven.push_back(point);
    db::ReleaseContent content;
    content.identities = {identity()};
    keep_untested_rows(content, existing, selection);
    ASSERT_EQ(content.rows.size(), 1u);
    EXPECT_EQ(content.rows.front().row.low_bytes, 8u);
    ASSERT_EQ(content.cuts.size(), 1u);
    EXPECT_EQ(content.cuts.front().id, "old");
}

}  // namespace
}  // namespace attune::tuner
