// Layers: which files are read, what each contributes, and what is said about the others.
#include "db/lookup.hpp"

#include "libcore/error.hpp"
#include "tests/db/support.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

namespace attune::db {

using test::Folder;
namespace fs = std::filesystem;

namespace {

Layer named(const std::string& path) {
    return {"job", path, true};
}
Layer unnamed(const std::string& path) {
    return {"user", path, false};
}

void publish(const std::string& path, std::vector<ReleaseRow> rows) {
    ReleaseContent content = test::content();
    content.identities.clear();
    content.rows = std::move(rows);
    write_release(path, content);
}

std::vector<std::string> states(const Loaded& loaded) {
    std::vector<std::string> out;
    for (const LayerState& state : loaded.layers)
        out.push_back(state.state);
    return out;
}

// "all_reduce 8-99 from 1": what is left of each row, and its layer.
std::vector<std::string> kept(const Loaded& loaded) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < loaded.rows.size(); ++i) {
        const core::TableRow& row = loaded.rows[i].row;
        EXPECT_EQ(loaded.table.row(i), row);
        out.push_back(row.key.collective + " " + std::to_string(row.low_bytes) + "-" + std::to_string(row.high_bytes) + " from " +
                      std::to_string(loaded.row_layers[i]));
    }
    return out;
}

// Refuses rows of another version of the algorithm than 1.
Rules only_version_1(Mode mode = Mode::use) {
    return {mode, Grade::interval, [](const core::TableRow& row) -> std::optional<std::string> {
                if (row.algorithm_version == 1) return {};
                return "version " + std::to_string(row.algorithm_version);
            }};
}
ReleaseRow old_row(std::uint64_t low, std::uint64_t high) {
    ReleaseRow row = test::row(test::machine(), low, high);
    row.row.algorithm_version = 7;
    return row;
}

}  // namespace

TEST(Layers, AnExplicitFileStandsAlone) {
    core::Environment environment;
    environment.db = "/a.db";
    environment.home = "/home/x";
    const auto found = layers(environment, "/b.db");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].name, "explicit");
    EXPECT_EQ(found[0].path, "/b.db");
    EXPECT_TRUE(found[0].named);
}

TEST(Layers, TheListOfTheEnvironmentStandsAlone) {
    core::Environment environment;
    environment.db = ":/a.db::/b.db";
    const auto found = layers(environment, "");
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].name, "job");
    EXPECT_EQ(found[0].path, "/a.db");
    EXPECT_EQ(found[1].path, "/b.db");
    EXPECT_TRUE(found[1].named);
}

TEST(Layers, DefaultsAreUserSiteSystem) {
    core::Environment environment;
    environment.xdg_data_home = "/data";
    const auto all = layers(environment, "");
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all[0].name, "user");
    EXPECT_EQ(all[0].path, "/data/attune/attune.db");
    EXPECT_EQ(all[1].name, "site");
    EXPECT_EQ(all[1].path, "/etc/attune/attune.db");
    EXPECT_EQ(all[2].name, "system");
    EXPECT_FALSE(all[2].named);
    const auto homeless = layers(core::Environment(), "");
    ASSERT_EQ(homeless.size(), 2U);
    EXPECT_EQ(homeless[0].name, "site");
    EXPECT_EQ(homeless[1].name, "system");
}

TEST(Mode, ParsesItsThreeWords) {
    EXPECT_EQ(parse_mode("use"), Mode::use);
    EXPECT_EQ(parse_mode("off"), Mode::off);
    EXPECT_EQ(parse_mode("require"), Mode::require);
    EXPECT_NE(test::error_of([] { (void)parse_mode("refine"); }).find("not offered yet"), std::string::npos);
    const std::string error = test::error_of([] { (void)parse_mode("requir"); });
    EXPECT_TRUE(error.starts_with("2 ")) << error;
    EXPECT_NE(error.find("require"), std::string::npos);
}

TEST(Grade, OffersExactAndIntervalAndRefusesTheRest) {
    EXPECT_EQ(parse_grade("exact"), Grade::exact);
    EXPECT_EQ(parse_grade("interval"), Grade::interval);
    for (const char* later : {"nearest", "family", "model"}) {
        const std::string error = test::error_of([later] { (void)parse_grade(later); });
        EXPECT_TRUE(error.starts_with("2 ")) << error;
        EXPECT_NE(error.find("not offered yet"), std::string::npos) << error;
    }
    const std::string error = test::error_of([] { (void)parse_grade("intervall"); });
    EXPECT_TRUE(error.starts_with("2 ")) << error;
    EXPECT_NE(error.find("did you mean 'interval'"), std::string::npos) << error;
}

TEST(Load, GivesTheRowsOfThisMachineInTableOrder) {
    const Folder folder;
    const std::string path = folder.file("a.db");
    publish(path, {test::row(test::machine(), 1024, 4096), test::row(test::machine(), 8, 512), test::row(test::machine("1"), 8, 512)});
    const Loaded loaded = load({named(path)}, test::machine(), Mode::use);
    EXPECT_EQ(states(loaded), std::vector<std::string>{"used"});
    EXPECT_EQ(loaded.layers[0].rows, 2U);
    EXPECT_EQ(loaded.origin, path);
    EXPECT_TRUE(loaded.warnings.empty());
    ASSERT_EQ(loaded.table.size(), 2U);
    ASSERT_EQ(loaded.rows.size(), 2U);
    for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(loaded.table.row(i), loaded.rows[i].row);
        EXPECT_EQ(loaded.rows[i].identity, test::machine());
        EXPECT_EQ(loaded.rows[i].evidence.launches, 3U);
    }
    EXPECT_EQ(loaded.rows[0].row.low_bytes, 8U);
}

TEST(Load, EarlierLayersOverlayLaterOnesByProblem) {
    const Folder folder;
    publish(folder.file("user.db"), {test::row(test::machine(), 100, 200)});
    publish(folder.file("site.db"), {test::row(test::machine(), 8, 99), test::row(test::machine(), 150, 300), test::row(test::machine(), 301, 400),
                                     test::row(test::machine(), 100, 200, "broadcast")});
    const Loaded loaded = load({unnamed(folder.file("user.db")), unnamed(folder.file("site.db"))}, test::machine(), Mode::use);
    EXPECT_EQ(kept(loaded), (std::vector<std::string>{"all_reduce 8-99 from 1", "all_reduce 100-200 from 0", "all_reduce 201-300 from 1",
                                                      "all_reduce 301-400 from 1", "broadcast 100-200 from 1"}));
    EXPECT_EQ(loaded.origin, folder.file("user.db") + ", " + folder.file("site.db"));
}

TEST(Load, ALaterRowKeepsBothSidesOfAnEarlierOne) {
    const Folder folder;
    publish(folder.file("user.db"), {test::row(test::machine(), 100, 200), test::row(test::machine(), 400, 400)});
    publish(folder.file("site.db"), {test::row(test::machine(), 8, 1024)});
    const Loaded loaded = load({unnamed(folder.file("user.db")), unnamed(folder.file("site.db"))}, test::machine(), Mode::use);
    EXPECT_EQ(kept(loaded), (std::vector<std::string>{"all_reduce 8-99 from 1", "all_reduce 100-200 from 0", "all_reduce 201-399 from 1",
                                                      "all_reduce 400-400 from 0", "all_reduce 401-1024 from 1"}));
}

TEST(Load, AnUnusableRowHidesNothingAndFillsWhatIsLeft) {
    const Folder folder;
    publish(folder.file("user.db"), {old_row(8, 512), test::row(test::machine(), 1024, 4096)});
    publish(folder.file("site.db"), {test::row(test::machine(), 64, 128)});
    const Loaded loaded = load({unnamed(folder.file("user.db")), unnamed(folder.file("site.db"))}, test::machine(), only_version_1());
    EXPECT_EQ(kept(loaded),
              (std::vector<std::string>{"all_reduce 8-63 from 0", "all_reduce 64-128 from 1", "all_reduce 129-512 from 0", "all_reduce 1024-4096 from 0"}));
    EXPECT_EQ(loaded.layers[0].rows, 1U);
    EXPECT_EQ(loaded.layers[0].skipped, 1U);
    EXPECT_EQ(skip_notices(loaded), std::vector<std::string>{"1 of 2 rows of " + folder.file("user.db") + " skipped: version 7"});
    EXPECT_TRUE(loaded.warnings.empty());
}

TEST(Load, RowsOfAnotherTeamAreKeptWithoutAWordButDoNotSatisfyRequire) {
    const Folder folder;
    publish(folder.file("user.db"), {test::row(test::machine(), 8, 64), old_row(128, 512)});
    Rules rules = only_version_1();
    rules.other_team = [](const core::TableRow& row) -> std::optional<std::string> {
        if (row.low_bytes == 8) return "proven for 2 ranks, this job has 3";
        return std::nullopt;
    };
    const Loaded loaded = load({unnamed(folder.file("user.db"))}, test::machine(), rules);
    EXPECT_EQ(loaded.rows.size(), 2U);
    EXPECT_EQ(loaded.layers[0].other_team, 1U);
    EXPECT_EQ(skip_notices(loaded), std::vector<std::string>{"1 of 1 row of " + folder.file("user.db") + " skipped: version 7"});
    publish(folder.file("other.db"), {test::row(test::machine(), 8, 64)});
    rules.mode = Mode::require;
    const Loaded required = load({named(folder.file("other.db"))}, test::machine(), rules);
    EXPECT_EQ(required.fatal_code, 3);
    EXPECT_NE(required.fatal_message.find("proven for 2 ranks, this job has 3"), std::string::npos) << required.fatal_message;
    EXPECT_TRUE(skip_notices(required).empty());
}

TEST(Load, ModeRequireIsFatalWhenEveryRowIsUnusable) {
    const Folder folder;
    publish(folder.file("a.db"), {old_row(8, 512), old_row(1024, 4096)});
    const Loaded loaded = load({named(folder.file("a.db"))}, test::machine(), only_version_1(Mode::require));
    EXPECT_EQ(loaded.fatal_code, 3);
    EXPECT_NE(loaded.fatal_message.find("2 of 2 rows skipped: version 7"), std::string::npos) << loaded.fatal_message;
    EXPECT_TRUE(loaded.origin.empty()) << loaded.origin;
    publish(folder.file("b.db"), {test::row(test::machine(), 8, 64)});
    EXPECT_EQ(load({named(folder.file("a.db")), named(folder.file("b.db"))}, test::machine(), only_version_1(Mode::require)).fatal_code, 0);
}

TEST(Load, TheGradeExactLeavesTheMeasuredEndsOnly) {
    const Folder folder;
    publish(folder.file("user.db"), {test::row(test::machine(), 8, 512), test::row(test::machine(), 1024, 1024)});
    publish(folder.file("site.db"), {test::row(test::machine(), 64, 512)});
    const Loaded loaded = load({unnamed(folder.file("user.db")), unnamed(folder.file("site.db"))}, test::machine(), Rules{Mode::use, Grade::exact, {}});
    EXPECT_EQ(kept(loaded),
              (std::vector<std::string>{"all_reduce 8-8 from 0", "all_reduce 64-64 from 1", "all_reduce 512-512 from 0", "all_reduce 1024-1024 from 0"}));
}

TEST(Load, APathWithALineBreakIsShownOnOneLine) {
    const Folder folder;
    const std::string path = folder.file("two\nlines.db");
    test::write_bytes(path, std::vector<std::byte>(5000));
    const Loaded loaded = load({named(path), named(folder.file("gone\n.db"))}, test::machine(), Mode::require);
    ASSERT_EQ(loaded.warnings.size(), 2U);
    for (const std::string& line : {loaded.warnings[0], loaded.warnings[1], loaded.fatal_message, test::error_of([&] { (void)read_release(path); })})
        EXPECT_EQ(line.find('\n'), std::string::npos) << line;
    EXPECT_NE(loaded.warnings[0].find("two\\nlines.db: "), std::string::npos) << loaded.warnings[0];
}

TEST(Load, AMissingNamedFileWarnsAndAMissingDefaultIsSilent) {
    const Folder folder;
    const Loaded loaded = load({named(folder.file("gone.db")), unnamed(folder.file("default.db"))}, test::machine(), Mode::use);
    EXPECT_EQ(states(loaded), (std::vector<std::string>{"missing", "missing"}));
    ASSERT_EQ(loaded.warnings.size(), 1U);
    EXPECT_TRUE(loaded.warnings[0].starts_with(folder.file("gone.db") + ": no such file")) << loaded.warnings[0];
    EXPECT_EQ(loaded.table.size(), 0U);
    EXPECT_EQ(loaded.fatal_code, 0);
}

TEST(Load, ADamagedFileCostsOneWarningAndTheOthersStillCount) {
    const Folder folder;
    publish(folder.file("good.db"), {test::row(test::machine(), 8, 512)});
    publish(folder.file("bad.db"), {test::row(test::machine(), 8, 512)});
    fs::resize_file(folder.file("bad.db"), 3000);
    const Loaded loaded = load({unnamed(folder.file("bad.db")), unnamed(folder.file("good.db"))}, test::machine(), Mode::use);
    EXPECT_EQ(states(loaded), (std::vector<std::string>{"damaged", "used"}));
    ASSERT_EQ(loaded.warnings.size(), 1U);
    EXPECT_TRUE(loaded.warnings[0].starts_with(folder.file("bad.db") + ": truncated")) << loaded.warnings[0];
    EXPECT_EQ(loaded.table.size(), 1U);
    EXPECT_EQ(loaded.fatal_code, 0);
}

TEST(Load, AnotherMachineIsNamedByItsDifferingFields) {
    const Folder folder;
    publish(folder.file("a.db"), {test::row(test::machine("1"), 8, 512)});
    const Loaded loaded = load({named(folder.file("a.db"))}, test::machine("97"), Mode::use);
    EXPECT_EQ(states(loaded), std::vector<std::string>{"other machine"});
    EXPECT_EQ(loaded.layers[0].reason, "tuned on another machine: cpu_model is 1 there and 97 here");
    ASSERT_TRUE(loaded.layers[0].nearest);
    EXPECT_EQ(*loaded.layers[0].nearest, test::machine("1"));
    ASSERT_EQ(loaded.warnings.size(), 1U);
    EXPECT_NE(loaded.warnings[0].find("cpu_model"), std::string::npos);
}

TEST(Load, ASiteFileOfAnotherMachineIsSilentWhenTheUserHasRows) {
    const Folder folder;
    publish(folder.file("user.db"), {test::row(test::machine(), 8, 512)});
    publish(folder.file("site.db"), {test::row(test::machine("1"), 8, 512)});
    EXPECT_TRUE(load({unnamed(folder.file("user.db")), unnamed(folder.file("site.db"))}, test::machine(), Mode::use).warnings.empty());
    EXPECT_EQ(load({unnamed(folder.file("site.db"))}, test::machine(), Mode::use).warnings.size(), 1U);
}

TEST(Load, AReleaseWithoutRowsForThisMachineIsUsedSilently) {
    const Folder folder;
    ReleaseContent content = test::content();
    content.rows.clear();
    write_release(folder.file("a.db"), content);
    const Loaded loaded = load({named(folder.file("a.db"))}, test::machine(), Mode::use);
    EXPECT_EQ(states(loaded), std::vector<std::string>{"used"});
    EXPECT_NE(loaded.layers[0].reason.find("nothing was proven"), std::string::npos);
    EXPECT_TRUE(loaded.warnings.empty());
    EXPECT_EQ(load({named(folder.file("a.db"))}, test::machine(), Mode::require).fatal_code, 3);
}

TEST(Load, ModeOffReadsNothing) {
    const Folder folder;
    publish(folder.file("a.db"), {test::row(test::machine(), 8, 512)});
    const Loaded loaded = load({named(folder.file("a.db"))}, test::machine(), Mode::off);
    EXPECT_EQ(loaded.table.size(), 0U);
    EXPECT_TRUE(loaded.layers.empty());
    EXPECT_TRUE(loaded.warnings.empty());
}

TEST(Load, ModeRequireIsFatalWithoutRowsOrWithDamage) {
    const Folder folder;
    publish(folder.file("good.db"), {test::row(test::machine(), 8, 512)});
    publish(folder.file("other.db"), {test::row(test::machine("1"), 8, 512)});
    test::write_bytes(folder.file("bad.db"), std::vector<std::byte>(5000));
    const auto fatal = [&](std::vector<Layer> files) { return load(files, test::machine(), Mode::require); };
    EXPECT_EQ(fatal({named(folder.file("good.db"))}).fatal_code, 0);
    EXPECT_EQ(fatal({named(folder.file("other.db"))}).fatal_code, 3);
    EXPECT_EQ(fatal({named(folder.file("gone.db"))}).fatal_code, 3);
    EXPECT_EQ(fatal({}).fatal_code, 3);
    const Loaded damaged = fatal({named(folder.file("bad.db")), named(folder.file("good.db"))});
    EXPECT_EQ(damaged.fatal_code, 4);
    EXPECT_TRUE(damaged.fatal_message.starts_with(folder.file("bad.db") + ": ")) << damaged.fatal_message;
}

TEST(Load, FoldersLinksAndUnreadableFilesAreDamagedNotFatal) {
    const Folder folder;
    publish(folder.file("a.db"), {test::row(test::machine(), 8, 512)});
    fs::create_symlink(folder.file("a.db"), folder.file("link.db"));
    fs::create_directory(folder.file("folder.db"));
    const Loaded loaded = load({named(folder.file("link.db")), named(folder.file("folder.db"))}, test::machine(), Mode::use);
    EXPECT_EQ(states(loaded), (std::vector<std::string>{"damaged", "damaged"}));
    EXPECT_NE(loaded.warnings.at(0).find("name the file itself"), std::string::npos);
    ::chmod(folder.file("a.db").c_str(), 0);
    EXPECT_EQ(test::as_unprivileged([&] {
                  const Loaded denied = load({named(folder.file("a.db"))}, test::machine(), Mode::use);
                  return states(denied) == std::vector<std::string>{"damaged"} && denied.warnings.size() == 1 ? 0 : 1;
              }),
              0);
}

}  // namespace attune::db
