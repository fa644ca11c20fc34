// Every damage and every forgery of a release is found before a row of it is used.
#include "db/footer.hpp"
#include "db/release.hpp"
#include "libcore/error.hpp"
#include "tests/db/support.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <random>

namespace attune::db {

using test::Folder;
namespace fs = std::filesystem;

namespace {

class DamagedRelease : public testing::Test {
protected:
    void SetUp() override {
        write_release(path_, test::content());
        bytes_ = test::bytes_of(path_);
    }
    // The error of reading `bytes` at path_.
    std::string error_with(const std::vector<std::byte>& bytes) {
        test::write_bytes(path_, bytes);
        return error();
    }
    std::string error() {
        return test::error_of([this] { (void)read_release(path_); });
    }
    // The error after `sql` was run on the database and the file was sealed again with a valid footer.
    std::string forged(const std::string& sql) {
        test::write_bytes(path_, bytes_);
        test::forge(path_, sql);
        return error();
    }
    // Code 4, the file first, and the reason somewhere after it.
    void expect_damage(const std::string& error, const std::string& reason) {
        EXPECT_TRUE(error.starts_with("4 " + path_ + ": ")) << error;
        EXPECT_NE(error.find(reason), std::string::npos) << error << "\n  expected: " << reason;
    }

    Folder folder_;
    std::string path_ = folder_.file("a.attune.db");
    std::vector<std::byte> bytes_;
};

}  // namespace

TEST_F(DamagedRelease, ThreeHundredRandomBitFlipsAreDetected) {
    std::mt19937_64 random(20261130);
    int detected = 0;
    for (int i = 0; i < 300; ++i) {
        std::vector<std::byte> flipped = bytes_;
        const std::uint64_t bit = random() % (flipped.size() * 8);
        flipped[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        detected += error_with(flipped).starts_with("4 ") ? 1 : 0;
    }
    EXPECT_EQ(detected, 300);
}

TEST_F(DamagedRelease, EveryBitOfTheFooterCounts) {
    for (std::size_t bit = 0; bit < footer_bytes * 8; ++bit) {
        std::vector<std::byte> flipped = bytes_;
        flipped[flipped.size() - footer_bytes + bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        EXPECT_TRUE(error_with(flipped).starts_with("4 ")) << "bit " << bit;
    }
}

TEST_F(DamagedRelease, TruncationAtAnyLengthIsDetected) {
    std::vector<std::size_t> lengths = {0, 1, 15, 16, 63, 64, 100, 511, 512, 575, 576, 4096, 4160};
    for (std::size_t length = 1000; length < bytes_.size(); length += 997)
        lengths.push_back(length);
    for (std::size_t cut = 1; cut <= 65; ++cut)
        lengths.push_back(bytes_.size() - cut);
    for (const std::size_t length : lengths) {
        const std::vector<std::byte> cut(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(length));
        expect_damage(error_with(cut), "truncated");
    }
}

TEST_F(DamagedRelease, TrailingJunkIsDetected) {
    for (const std::size_t junk : {1U, 64U, 4096U}) {
        std::vector<std::byte> longer = bytes_;
        longer.resize(bytes_.size() + junk, std::byte{'x'});
        expect_damage(error_with(longer), "no footer at its end");
    }
    std::vector<std::byte> doubled = bytes_;
    doubled.insert(doubled.end(), bytes_.begin(), bytes_.end());
    expect_damage(error_with(doubled), "wrong length");
}

TEST_F(DamagedRelease, ANewerFormatIsNamedWithBothNumbers) {
    std::vector<std::byte> newer = bytes_;
    newer[newer.size() - footer_bytes + 8] = std::byte{7};
    expect_damage(error_with(newer), "newer format: it has 7, this attune reads up to 1");
    expect_damage(forged("PRAGMA user_version=3"), "newer format: its schema is 3, this attune reads up to 1");
}

TEST_F(DamagedRelease, OtherDatabasesAreNotReleases) {
    expect_damage(forged("PRAGMA application_id=1"), "other application id");
    expect_damage(forged("PRAGMA user_version=0"), "schema version 0");
    expect_damage(error_with(std::vector<std::byte>(10000, std::byte{'a'})), "no footer at its end");
}

TEST_F(DamagedRelease, AFileThatIsNoFileIsRefusedAtOnce) {
    fs::create_directory(folder_.file("folder"));
    EXPECT_TRUE(test::error_of([&] { (void)read_release(folder_.file("folder")); }).starts_with("4 "));
    ASSERT_EQ(::mkfifo(folder_.file("fifo").c_str(), 0600), 0);
    EXPECT_TRUE(test::error_of([&] { (void)read_release(folder_.file("fifo")); }).starts_with("4 "));
    EXPECT_TRUE(test::error_of([&] { (void)read_release("/dev/zero"); }).starts_with("4 "));
    const std::string missing = test::error_of([&] { (void)read_release(folder_.file("missing")); });
    EXPECT_EQ(missing, "3 " + folder_.file("missing") + ": no such file");
}

TEST_F(DamagedRelease, ASymbolicLinkIsRefusedWithARemedy) {
    fs::create_symlink(path_, folder_.file("link"));
    const std::string error = test::error_of([&] { (void)read_release(folder_.file("link")); });
    EXPECT_TRUE(error.starts_with("4 ")) << error;
    EXPECT_NE(error.find("symbolic link; name the file itself"), std::string::npos) << error;
}

TEST_F(DamagedRelease, AnUnreadableFileIsNamed) {
    ::chmod(path_.c_str(), 0);
    const int status = test::as_unprivileged([&] {
        const std::string message = error();
        return message.starts_with("4 " + path_ + ": ") && message.find("Permission denied") != std::string::npos ? 0 : 1;
    });
    EXPECT_EQ(status, 0);
}

TEST_F(DamagedRelease, AFileAboveTheLimitIsNotRead) {
    ASSERT_EQ(::truncate(path_.c_str(), (256LL << 20) + 1), 0);
    expect_damage(error(), "exceed the limit");
}

// From here on the footer is valid: somebody built the file on purpose.
TEST_F(DamagedRelease, AnUnchangedForgeryIsAccepted) {
    EXPECT_EQ(forged("SELECT 1"), "");
}

TEST_F(DamagedRelease, ViewsInPlaceOfTablesAreRefused) {
    expect_damage(forged("ALTER TABLE row RENAME TO row2; CREATE VIEW row AS SELECT * FROM row2"), "schema differs");
    expect_damage(forged("DROP TABLE context; CREATE VIEW context AS SELECT name, value FROM meta"), "schema differs");
    expect_damage(forged("CREATE VIEW extra AS SELECT load_extension('/tmp/x.so')"), "schema differs at 'extra'");
}

TEST_F(DamagedRelease, TriggersAndAddedOrMissingObjectsAreRefused) {
    expect_damage(forged("CREATE TRIGGER t AFTER INSERT ON row BEGIN DELETE FROM meta; END"), "schema differs at 't'");
    expect_damage(forged("CREATE INDEX i ON row(run)"), "schema differs at 'i'");
    expect_damage(forged("CREATE TABLE extra(x)"), "schema differs at 'extra'");
    expect_damage(forged("DROP TABLE row_gain"), "schema differs at");
    expect_damage(forged("ALTER TABLE meta ADD COLUMN more TEXT"), "schema differs at 'meta'");
}

TEST_F(DamagedRelease, ASchemaThatDoesNotParseIsRefused) {
    expect_damage(forged("UPDATE sqlite_schema SET sql='CREATE nonsense' WHERE name='row'"), "database");
    expect_damage(forged("UPDATE sqlite_schema SET rootpage=999 WHERE name='row'"), "database");
}

TEST_F(DamagedRelease, WrongTypesAreRefused) {
    // STRICT stands in the way of wrong types, so the table is replaced by one without it, whose schema text is then put back.
    const auto loosened = [](const std::string& update) {
        return "CREATE TABLE keep AS SELECT sql FROM sqlite_schema WHERE name='meta';"
               "CREATE TABLE copy AS SELECT * FROM meta; DROP TABLE meta;"
               "CREATE TABLE meta(name TEXT PRIMARY KEY NOT NULL, value NOT NULL) WITHOUT ROWID; INSERT INTO meta SELECT * FROM copy;" +
               update + "UPDATE sqlite_schema SET sql=(SELECT sql FROM keep) WHERE name='meta'; DROP TABLE keep; DROP TABLE copy";
    };
    expect_damage(forged(loosened("UPDATE meta SET value=x'00' WHERE name='utc';")), "wrong type in column 'value'");
    expect_damage(forged(loosened("UPDATE meta SET value=17 WHERE name='utc';")), "wrong type in column 'value'");
}

TEST_F(DamagedRelease, ChangedValuesAreRefused) {
    expect_damage(forged("UPDATE row SET gain = 9.5, gain_high = 9.6 WHERE id=1"), "row 1: row digest mismatch");
    expect_damage(forged("UPDATE row SET high_bytes = high_bytes + 1 WHERE id=2"), "row 2: row digest mismatch");
    expect_damage(forged("UPDATE row SET config = 'algorithm=one_shot' WHERE id=1"), "row digest mismatch");
    expect_damage(forged("UPDATE row SET ranks = 5 WHERE id=1"), "row digest mismatch");
    expect_damage(forged("UPDATE row_gain SET ratio = 1.0 WHERE row=1 AND class='c1'"), "row digest mismatch");
    expect_damage(forged("DELETE FROM row_gain WHERE row=1 AND class='c1'"), "row digest mismatch");
    expect_damage(forged("UPDATE row_gain SET row=77 WHERE row=1"), "row digest mismatch");
    expect_damage(forged("INSERT INTO row_gain VALUES(77,'x','c0',1,1.0,1.0,1.0)"), "gains without a row");
    expect_damage(forged("INSERT INTO row_gain VALUES(1,'other','c2',1,1.0,1.0,1.0)"), "gains of another cut set");
}

TEST_F(DamagedRelease, ValuesOutOfRangeAreRefused) {
    expect_damage(forged("UPDATE row SET low_bytes = -1 WHERE id=1"), "negative count");
    expect_damage(forged("UPDATE row SET high_bytes = 0 WHERE id=1"), "impossible interval");
    expect_damage(forged("UPDATE row SET best_ns = 0.0 WHERE id=1"), "impossible time");
    expect_damage(forged("UPDATE row SET default_ns = 9e999 WHERE id=1"), "impossible time");
    expect_damage(forged("UPDATE row SET gain = -1.0 WHERE id=1"), "impossible gain");
    expect_damage(forged("UPDATE row SET floor = -0.5 WHERE id=1"), "impossible noise floor");
    expect_damage(forged("UPDATE row SET p_value = 2.0 WHERE id=1"), "impossible probability");
    expect_damage(forged("UPDATE row SET complete = 2 WHERE id=1"), "a flag");
    expect_damage(forged("UPDATE row SET default_version = 4294967296 WHERE id=1"), "version out of range");
    expect_damage(forged("UPDATE row SET in_place = 'both' WHERE id=1"), "'in' or 'out'");
    expect_damage(forged("UPDATE row SET ranks = 0 WHERE id=1"), "fewer than one rank");
    expect_damage(forged("UPDATE row SET identity = 2 WHERE id=1"), "unknown identity");
    expect_damage(forged("UPDATE row_gain SET class = 'c9' WHERE row=1 AND class='c0'"), "unknown placement class");
}

TEST_F(DamagedRelease, TextsThatAttuneNeverWritesAreRefused) {
    expect_damage(forged("UPDATE row SET config = 'segment_bytes=65536,algorithm=ring' WHERE id=1"), "not in canonical form");
    expect_damage(forged("UPDATE row SET config = 'algoritm=ring' WHERE id=1"), "row 1");
    expect_damage(forged("UPDATE row SET run = 'a' || char(27) || '[2J' WHERE id=1"), "unprintable");
    expect_damage(forged("UPDATE row SET run = CAST(x'ff' AS TEXT) WHERE id=1"), "unprintable");
    expect_damage(forged("UPDATE row SET node_map = '1/4' WHERE id=1"), "14 fields");
    expect_damage(forged("UPDATE context SET value = 'a' || char(10) || 'b' WHERE name='host'"), "unprintable");
}

TEST_F(DamagedRelease, HugeValuesAreRefused) {
    expect_damage(forged("UPDATE row SET run = printf('%.*c', 70000, 'a') WHERE id=1"), "overlong");
    expect_damage(forged("UPDATE row SET run = printf('%.*c', 80000000, 'a') WHERE id=1"), "database");
}

TEST_F(DamagedRelease, IdentitiesAndCutsAreChecked) {
    expect_damage(forged("UPDATE identity SET text = replace(text, 'sockets=1', 'sockets=2')"), "identity digest mismatch");
    expect_damage(forged("UPDATE identity SET text = 'nothing'"), "malformed identity");
    expect_damage(forged("UPDATE placement_cut SET upper_ns = 500.0 WHERE class='c0'"), "impossible placement cuts");
    expect_damage(forged("DELETE FROM placement_cut WHERE class='c0'"), "a placement class is missing");
    expect_damage(forged("DELETE FROM meta WHERE name='utc'"), "'utc' is missing");
}

TEST_F(DamagedRelease, TheStoredTableMustEqualTheRows) {
    expect_damage(forged("UPDATE table_blob SET bytes = x'00'"), "differs from the rows");
    expect_damage(forged("UPDATE table_blob SET digest = '0000000000000000'"), "digest mismatch of a stored table");
    expect_damage(forged("DELETE FROM table_blob"), "stored table of an identity is missing");
    expect_damage(forged("DELETE FROM row_gain WHERE row=2; DELETE FROM row WHERE id=2"), "differs from the rows");
    expect_damage(forged("INSERT INTO table_blob VALUES(9, x'00', 'x')"), "belongs to no identity");
}

TEST_F(DamagedRelease, AWriteAheadDatabaseIsRefused) {
    expect_damage(forged("PRAGMA journal_mode=WAL"), "write-ahead log");
}

// Random bytes inside a sealed file: an answer or a reason, never a crash, and never a changed row.
TEST_F(DamagedRelease, SealedGarbageNeverCrashesAndNeverChangesARow) {
    std::mt19937_64 random(7);
    const ReleaseContent original = read_release(path_);
    int refused = 0;
    for (int i = 0; i < 200; ++i) {
        std::vector<std::byte> image(bytes_.begin(), bytes_.end() - footer_bytes);
        for (int flips = 0; flips < 4; ++flips)
            image[random() % image.size()] = static_cast<std::byte>(random());
        const auto footer = make_footer(image);
        image.insert(image.end(), footer.begin(), footer.end());
        test::write_bytes(path_, image);
        try {
            const ReleaseContent content = read_release(path_);
            ASSERT_EQ(content.rows.size(), original.rows.size());
            for (std::size_t r = 0; r < content.rows.size(); ++r)
                EXPECT_EQ(content.rows[r].row, original.rows[r].row);
        } catch (const core::Error& error) {
            EXPECT_EQ(error.exit_code(), 4) << error.what();
            ++refused;
        }
    }
    EXPECT_GT(refused, 0);
}

}  // namespace attune::db
