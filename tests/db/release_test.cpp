// Releases: what is written is read back, what is replaced is kept, what cannot be written says why.
#include "db/release.hpp"

#include "db/footer.hpp"
#include "libcore/crypto.hpp"
#include "libcore/error.hpp"
#include "tests/db/support.hpp"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <filesystem>
#include <thread>

namespace attune::db {

using test::Folder;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(folder))
        out.push_back(entry.path().filename().string());
    std::ranges::sort(out);
    return out;
}

void expect_same_row(const ReleaseRow& a, const ReleaseRow& b) {
    EXPECT_EQ(a.identity, b.identity);
    EXPECT_EQ(a.row, b.row);
    EXPECT_EQ(a.evidence.launches, b.evidence.launches);
    EXPECT_EQ(a.evidence.blocks, b.evidence.blocks);
    EXPECT_EQ(a.evidence.floor, b.evidence.floor);
    EXPECT_EQ(a.evidence.p_value, b.evidence.p_value);
    EXPECT_EQ(a.evidence.candidates, b.evidence.candidates);
    EXPECT_EQ(a.evidence.complete, b.evidence.complete);
    EXPECT_EQ(a.evidence.verification, b.evidence.verification);
    EXPECT_EQ(a.evidence.run, b.evidence.run);
    EXPECT_EQ(a.evidence.utc, b.evidence.utc);
    EXPECT_EQ(a.evidence.cut_set, b.evidence.cut_set);
    ASSERT_EQ(a.evidence.classes.size(), b.evidence.classes.size());
    for (std::size_t i = 0; i < a.evidence.classes.size(); ++i) {
        EXPECT_EQ(a.evidence.classes[i].placement, b.evidence.classes[i].placement);
        EXPECT_EQ(a.evidence.classes[i].blocks, b.evidence.classes[i].blocks);
        EXPECT_EQ(a.evidence.classes[i].ratio, b.evidence.classes[i].ratio);
        EXPECT_EQ(a.evidence.classes[i].low, b.evidence.classes[i].low);
        EXPECT_EQ(a.evidence.classes[i].high, b.evidence.classes[i].high);
    }
}

}  // namespace

TEST(Release, ReadsBackEverythingThatWasWritten) {
    const Folder folder;
    const ReleaseContent written = test::content();
    EXPECT_TRUE(write_release(folder.file("a.attune.db"), written).empty());
    const ReleaseContent read = read_release(folder.file("a.attune.db"));
    EXPECT_EQ(read.identities, written.identities);
    EXPECT_EQ(read.context, written.context);
    EXPECT_EQ(read.utc, written.utc);
    EXPECT_EQ(read.tool_version, written.tool_version);
    ASSERT_EQ(read.cuts.size(), 1U);
    EXPECT_EQ(read.cuts[0].id, "cuts-1");
    EXPECT_EQ(read.cuts[0].upper_ns, written.cuts[0].upper_ns);
    ASSERT_EQ(read.rows.size(), 2U);
    expect_same_row(read.rows[0], written.rows[1]);
    expect_same_row(read.rows[1], written.rows[0]);
    EXPECT_EQ(read.rows[0].id.size(), 16U);
    EXPECT_NE(read.rows[0].id, read.rows[1].id);
}

TEST(Release, LeavesNothingBesideTheFile) {
    const Folder folder;
    write_release(folder.file("a.attune.db"), test::content());
    EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"a.attune.db"});
}

TEST(Release, WithZeroRowsIsStillARelease) {
    const Folder folder;
    ReleaseContent content = test::content();
    content.rows.clear();
    content.cuts = {{"none", {}}};
    write_release(folder.file("a.db"), content);
    const ReleaseContent read = read_release(folder.file("a.db"));
    EXPECT_EQ(read.identities, content.identities);
    EXPECT_TRUE(read.rows.empty());
    ASSERT_EQ(read.cuts.size(), 1U);
    EXPECT_TRUE(read.cuts[0].upper_ns.empty());
    EXPECT_EQ(table_for(read, test::machine()).size(), 0U);
}

TEST(Release, CreatesItsFolders) {
    const Folder folder;
    const std::string path = folder.file("one/two/a.attune.db");
    write_release(path, test::content());
    EXPECT_EQ(read_release(path).rows.size(), 2U);
    EXPECT_EQ(fs::status(folder.file("one/two")).permissions() & fs::perms::group_write, fs::perms::none);
}

TEST(Release, SqliteAloneStillOpensIt) {
    const Folder folder;
    write_release(folder.file("a.db"), test::content());
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open_v2(folder.file("a.db").c_str(), &database, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
    int rows = 0;
    const auto count = [](void* out, int, char** values, char**) -> int {
        *static_cast<int*>(out) = static_cast<int>(std::strtol(values[0], nullptr, 10));
        return 0;
    };
    EXPECT_EQ(sqlite3_exec(database, "SELECT count(*) FROM row", count, &rows, nullptr), SQLITE_OK);
    EXPECT_EQ(rows, 2);
    sqlite3_close(database);
}

// Written out by hand from docs/database-format.md, sharing nothing with the code that seals.
TEST(Release, FooterHasTheDocumentedLayout) {
    const Folder folder;
    write_release(folder.file("a.db"), test::content());
    const std::vector<std::byte> file = test::bytes_of(folder.file("a.db"));
    ASSERT_GT(file.size(), 64U);
    const auto* footer = reinterpret_cast<const unsigned char*>(file.data() + file.size() - 64);
    EXPECT_EQ(std::memcmp(footer, "ATTUNE\r\n", 8), 0);
    const std::vector<unsigned char> numbers(footer + 8, footer + 32);
    std::vector<unsigned char> expected = {1, 0, 0, 0, 64, 0, 0, 0};
    for (int i = 0; i < 8; ++i)
        expected.push_back(static_cast<unsigned char>(file.size() >> (8 * i)));
    expected.resize(24, 0);
    EXPECT_EQ(numbers, expected);
    const core::Digest digest = core::sha256(std::span(file).first(file.size() - 32));
    EXPECT_EQ(std::memcmp(footer + 32, digest.data(), 32), 0);
}

TEST(Release, KeepsRowsOfOtherMachinesAndReplacesItsOwn) {
    const Folder folder;
    const std::string path = folder.file("a.db");
    ReleaseContent other = test::content();
    other.identities = {test::machine("1")};
    other.rows = {test::row(test::machine("1"), 64, 128)};
    other.cuts = {{"cuts-other", {99}}};
    write_release(path, other);
    write_release(path, test::content());
    ReleaseContent again = test::content();
    again.rows = {test::row(test::machine(), 16, 32)};
    write_release(path, again);
    const ReleaseContent read = read_release(path);
    EXPECT_EQ(read.identities.size(), 2U);
    EXPECT_EQ(read.cuts.size(), 2U);
    ASSERT_EQ(read.rows.size(), 2U);
    EXPECT_EQ(table_for(read, test::machine("1")).size(), 1U);
    EXPECT_EQ(table_for(read, test::machine()).row(0).low_bytes, 16U);
}

// One of two publications read the release before the other replaced it, and its rows were gone.
TEST(Release, TwoPublicationsAtOnceLoseNoRow) {
    for (int round = 0; round < 10; ++round) {
        const Folder folder;
        const std::string path = folder.file("a.db");
        const auto publish = [&path](const std::string& collective) {
            ReleaseContent content = test::content();
            content.rows = {test::row(test::machine(), 64, 128, collective)};
            const Merge keep = [](ReleaseContent& all, const ReleaseContent& existing) {
                all.rows.insert(all.rows.end(), existing.rows.begin(), existing.rows.end());
            };
            // A busy folder is an answer; then the tool is started again.
            while (test::error_of([&] { write_release(path, content, keep); }).starts_with("75 "))
                std::this_thread::yield();
        };
        std::thread other(publish, "broadcast");
        publish("all_reduce");
        other.join();
        EXPECT_EQ(read_release(path).rows.size(), 2U);
    }
}

TEST(Release, KeepsTheOldFileAsPrevious) {
    const Folder folder;
    const std::string path = folder.file("a.db");
    write_release(path, test::content());
    const auto first = test::bytes_of(path);
    ReleaseContent next = test::content();
    next.rows.pop_back();
    write_release(path, next);
    EXPECT_EQ(test::bytes_of(path + ".previous"), first);
    EXPECT_EQ(read_release(path).rows.size(), 1U);
    const auto second = test::bytes_of(path);
    write_release(path, test::content());
    EXPECT_EQ(test::bytes_of(path + ".previous"), second);
    EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"a.db", "a.db.previous"}));
}

TEST(Release, PublishingTheSameTwiceGivesTheSameBytes) {
    const Folder folder;
    write_release(folder.file("a.db"), test::content());
    write_release(folder.file("b.db"), test::content());
    EXPECT_EQ(test::bytes_of(folder.file("a.db")), test::bytes_of(folder.file("b.db")));
}

TEST(Release, ADamagedFileIsMovedAsideWithANotice) {
    const Folder folder;
    const std::string path = folder.file("a.db");
    write_release(path, test::content());
    auto bytes = test::bytes_of(path);
    bytes[200] ^= std::byte{4};
    test::write_bytes(path, bytes);
    const auto notices = write_release(path, test::content());
    ASSERT_EQ(notices.size(), 1U);
    EXPECT_NE(notices[0].find("digest mismatch"), std::string::npos) << notices[0];
    EXPECT_EQ(test::bytes_of(path + ".damaged"), bytes);
    EXPECT_EQ(read_release(path).rows.size(), 2U);
}

TEST(Release, ANewerFileIsNeverReplaced) {
    const Folder folder;
    const std::string path = folder.file("a.db");
    write_release(path, test::content());
    auto bytes = test::bytes_of(path);
    bytes[bytes.size() - 64 + 8] = std::byte{2};
    test::write_bytes(path, bytes);
    const std::string error = test::error_of([&] { write_release(path, test::content()); });
    EXPECT_TRUE(error.starts_with("1 ")) << error;
    EXPECT_NE(error.find("it has 2, this attune reads up to 1"), std::string::npos) << error;
    EXPECT_EQ(test::bytes_of(path), bytes);
}

TEST(Release, IsNotWrittenThroughALinkOrOverAFolder) {
    const Folder folder;
    write_release(folder.file("a.db"), test::content());
    fs::create_symlink(folder.file("a.db"), folder.file("link.db"));
    EXPECT_NE(test::error_of([&] { write_release(folder.file("link.db"), test::content()); }).find("symbolic link"), std::string::npos);
    fs::create_directory(folder.file("folder.db"));
    EXPECT_TRUE(test::error_of([&] { write_release(folder.file("folder.db"), test::content()); }).starts_with("2 "));
}

TEST(Release, NothingElseThanAReleaseIsReplaced) {
    const Folder folder;
    test::write_bytes(folder.file("letter.txt"), std::vector<std::byte>(500, std::byte{'a'}));
    EXPECT_NE(test::error_of([&] { write_release(folder.file("letter.txt"), test::content()); }).find("is no release"), std::string::npos);
    EXPECT_EQ(test::bytes_of(folder.file("letter.txt")).size(), 500U);
    (void)Journal::open(folder.file("a.journal"), test::machine(), {});
    EXPECT_NE(test::error_of([&] { write_release(folder.file("a.journal"), test::content()); }).find("is a journal"), std::string::npos);
    test::write_bytes(folder.file("empty.db"), {});
    EXPECT_NO_THROW(write_release(folder.file("empty.db"), test::content()));
}

TEST(Release, LeftoversOfAKilledPublisherAreRemoved) {
    const Folder folder;
    test::write_bytes(folder.file("a.db.tmp-1"), std::vector<std::byte>(100));
    write_release(folder.file("a.db"), test::content());
    EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"a.db"});
}

TEST(Release, RefusesRowsThatCouldNotBeReadBack) {
    const Folder folder;
    const auto refused = [&](const std::function<void(ReleaseRow&)>& change) {
        ReleaseContent content = test::content();
        change(content.rows[0]);
        const std::string error = test::error_of([&] { write_release(folder.file("a.db"), content); });
        EXPECT_EQ(fs::remove(folder.file("a.db")), error.empty());
        return error.starts_with("1 ");
    };
    EXPECT_FALSE(refused([](ReleaseRow&) {}));
    EXPECT_TRUE(refused([](ReleaseRow& row) { row.row.gain = std::nan(""); }));
    EXPECT_TRUE(refused([](ReleaseRow& row) { row.row.best_ns = 0; }));
    EXPECT_TRUE(refused([](ReleaseRow& row) { row.row.default_ns = std::numeric_limits<double>::infinity(); }));
    EXPECT_TRUE(refused([](ReleaseRow& row) { row.row.gain_low = 2; }));
    EXPECT_TRUE(refused([](ReleaseRow& row) { row.row.low_bytes = 1U << 30; }));
    EXPECT_TRUE(refused([](ReleaseRow& row) { row.row.high_bytes = ~0ULL; }));
    EXPECT_TRUE(refused([](ReleaseRow& row) { row.row.low_bytes = 8; }));  // overlaps the other row
    EXPECT_TRUE(refused([](ReleaseRow& row) { row.evidence.classes[0].placement = "c9"; }));
    EXPECT_TRUE(refused([](ReleaseRow& row) { row.evidence.classes[0].placement = "c1"; }));  // twice
    EXPECT_TRUE(refused([](ReleaseRow& row) { row.evidence.p_value = 1.5; }));
    EXPECT_TRUE(refused([](ReleaseRow& row) { row.evidence.run = "a\x1b[2J"; }));
    EXPECT_TRUE(refused([](ReleaseRow& row) { row.row.config = core::Config(); }));
}

TEST(Release, TheLargestSizeSurvives) {
    const Folder folder;
    ReleaseContent content = test::content();
    content.rows = {test::row(test::machine(), (1ULL << 62) + 1, (1ULL << 63) - 1)};
    write_release(folder.file("a.db"), content);
    EXPECT_EQ(read_release(folder.file("a.db")).rows.at(0).row.high_bytes, (1ULL << 63) - 1);
}

TEST(Release, UnprintableContextIsMadePrintable) {
    const Folder folder;
    ReleaseContent content = test::content();
    content.context = {{"cpu", "EPYC\x1b[31m \xff µ"}};
    write_release(folder.file("a.db"), content);
    EXPECT_EQ(read_release(folder.file("a.db")).context.at(0).second, "EPYC?[31m ? µ");
}

TEST(Release, AFolderThatCannotBeWrittenIsNamedWithARemedy) {
    const Folder folder;
    fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_read | fs::perms::others_exec);
    const int status = test::as_unprivileged([&] {
        const std::string error = test::error_of([&] { write_release(folder.file("a.db"), test::content()); });
        return error.starts_with("1 ") && error.find("--db") != std::string::npos && error.find(folder.path()) != std::string::npos ? 0 : 1;
    });
    EXPECT_EQ(status, 0);
}

}  // namespace attune::db
