// The journal: every trial on disk, one writer, and one clear line for each way it can be unusable.
#include "db/journal.hpp"

#include "db/file_system.hpp"
#include "libcore/error.hpp"
#include "tests/db/support.hpp"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <limits>

namespace attune::db {

using test::Folder;
namespace fs = std::filesystem;

namespace {

void sql(const std::string& path, const std::string& text) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, text.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << text << ": " << sqlite3_errmsg(database);
    sqlite3_close(database);
}

std::string open_error(const std::string& path) {
    return test::error_of([&] { (void)Journal::open(path, test::machine(), {}); });
}

void expect_error(const std::string& error, const std::string& start, const std::string& part) {
    EXPECT_TRUE(error.starts_with(start)) << error;
    EXPECT_NE(error.find(part), std::string::npos) << error << "\n  expected: " << part;
}

void expect_same(const Trial& a, const Trial& b) {
    EXPECT_EQ(a.run, b.run);
    EXPECT_EQ(a.phase, b.phase);
    EXPECT_EQ(a.key, b.key);
    EXPECT_EQ(a.bytes, b.bytes);
    EXPECT_EQ(a.config, b.config);
    EXPECT_EQ(a.default_config, b.default_config);
    EXPECT_EQ(a.default_version, b.default_version);
    EXPECT_EQ(a.algorithm_version, b.algorithm_version);
    EXPECT_EQ(a.outcome, b.outcome);
    EXPECT_EQ(a.message, b.message);
    EXPECT_EQ(a.launch, b.launch);
    EXPECT_EQ(a.placement, b.placement);
    EXPECT_EQ(a.round_trip_ns, b.round_trip_ns);
    EXPECT_EQ(a.batch, b.batch);
    EXPECT_EQ(a.default_ns, b.default_ns);
    EXPECT_EQ(a.config_ns, b.config_ns);
    EXPECT_EQ(a.ratio, b.ratio);
    EXPECT_EQ(a.utc, b.utc);
}

// Runs `action` in a child process that dies without any destructor; true when it got that far.
bool in_dying_process(const std::function<void()>& action) {
    const pid_t child = ::fork();
    if (child == 0) {
        try {
            action();
        } catch (const std::exception&) {
            ::_exit(1);
        }
        ::raise(SIGKILL);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

}  // namespace

TEST(Journal, ReadsBackEveryTrial) {
    const Folder folder;
    Journal journal = Journal::open(folder.file("a.journal"), test::machine(), {});
    std::vector<Trial> written = {test::trial(0), test::trial(1ULL << 40), test::trial(8)};
    written[1].outcome = Outcome::failed;
    written[1].message = "rank 2 was killed by signal 11\nwith a second line";
    written[1].default_ns.clear();
    written[1].config_ns.clear();
    written[1].placement.clear();
    written[1].ratio = 0;
    written[2].outcome = Outcome::timeout;
    written[2].ratio = -0.0;
    written[2].round_trip_ns = std::numeric_limits<double>::infinity();
    std::int64_t last = 0;
    for (Trial& trial : written) {
        trial.id = journal.record(trial);
        EXPECT_GT(trial.id, last);
        last = trial.id;
    }
    const std::vector<Trial> read = journal.trials(test::machine());
    ASSERT_EQ(read.size(), written.size());
    for (std::size_t i = 0; i < read.size(); ++i) {
        EXPECT_EQ(read[i].id, written[i].id);
        expect_same(read[i], written[i]);
    }
    EXPECT_EQ(journal.damaged(), 0U);
}

TEST(Journal, EveryOutcomeHasItsOwnName) {
    const Folder folder;
    Journal journal = Journal::open(folder.file("a.journal"), test::machine(), {});
    std::vector<std::string> names;
    for (const Outcome outcome : {Outcome::ok, Outcome::wrong, Outcome::failed, Outcome::timeout, Outcome::noisy}) {
        Trial trial = test::trial();
        trial.outcome = outcome;
        journal.record(trial);
        names.emplace_back(name_of(outcome));
        EXPECT_EQ(journal.trials(test::machine()).back().outcome, outcome);
    }
    EXPECT_EQ(names, (std::vector<std::string>{"ok", "wrong", "failed", "timeout", "noisy"}));
}

TEST(Journal, ARecordedTrialSurvivesAKill) {
    const Folder folder;
    const std::string path = folder.file("a.journal");
    for (int round = 0; round < 5; ++round) {
        ASSERT_TRUE(in_dying_process([&] {
            Journal journal = Journal::open(path, test::machine(), {});
            journal.record(test::trial(8));
            journal.record(test::trial(16));
        }));
        EXPECT_EQ(Journal::open_for_reading(path).trials(test::machine()).size(), 2U * static_cast<unsigned>(round + 1));
    }
    EXPECT_EQ(Journal::open(path, test::machine(), {}).trials(test::machine()).size(), 10U);  // the dead holder blocks nobody
}

TEST(Journal, AHalfWrittenTransactionIsRolledBack) {
    const Folder folder;
    const std::string path = folder.file("a.journal");
    Journal::open(path, test::machine(), {}).record(test::trial());
    ASSERT_TRUE(in_dying_process([&] {
        sqlite3* database = nullptr;
        sqlite3_open(path.c_str(), &database);
        // A cache of one page forces changed pages into the file before the transaction ends.
        sqlite3_exec(database, "PRAGMA cache_size=1; BEGIN IMMEDIATE; UPDATE trial SET message=printf('%.*c', 200000, 'x')", nullptr, nullptr, nullptr);
    }));
    ASSERT_TRUE(fs::exists(path + "-journal"));
    const Journal journal = Journal::open_for_reading(path);
    ASSERT_EQ(journal.trials(test::machine()).size(), 1U);
    EXPECT_EQ(journal.damaged(), 0U);
}

TEST(Journal, HoldsSeveralMachinesApart) {
    const Folder folder;
    const std::string path = folder.file("a.journal");
    Journal::open(path, test::machine("1"), {{"host", "old"}}).record(test::trial(8));
    {
        Journal journal = Journal::open(path, test::machine("2"), {{"host", "new"}});
        journal.record(test::trial(16));
        journal.record(test::trial(32));
        EXPECT_FALSE(journal.cuts());
        EXPECT_FALSE(journal.value("ladder"));
    }
    const Journal journal = Journal::open_for_reading(path);
    EXPECT_EQ(journal.identities(), (std::vector<Identity>{test::machine("1"), test::machine("2")}));
    EXPECT_EQ(journal.trials(test::machine("1")).size(), 1U);
    EXPECT_EQ(journal.trials(test::machine("2")).size(), 2U);
    EXPECT_TRUE(journal.trials(test::machine("3")).empty());
    EXPECT_EQ(journal.context(test::machine("1")).at(0).second, "old");
    EXPECT_EQ(journal.context(test::machine("2")).at(0).second, "new");
}

TEST(Journal, KeepsCutsAndValuesOfTheNewestRun) {
    const Folder folder;
    const std::string path = folder.file("a.journal");
    {
        Journal journal = Journal::open(path, test::machine(), {});
        journal.store_cuts({"one", {180.5}});
        journal.store_cuts({"two", {}});
        journal.set_value("budget", "90");
        journal.set_value("budget", "60");
    }
    const Journal journal = Journal::open(path, test::machine(), {});
    ASSERT_TRUE(journal.cuts());
    EXPECT_EQ(journal.cuts()->id, "two");
    EXPECT_TRUE(journal.cuts()->upper_ns.empty());
    EXPECT_EQ(journal.value("budget"), "60");
    EXPECT_FALSE(journal.value("nothing"));
    EXPECT_EQ(Journal::open_for_reading(path).cuts(test::machine())->id, "two");
}

TEST(Journal, ASecondWriterIsToldWhoHoldsIt) {
    const Folder folder;
    const Journal journal = Journal::open(folder.file("a.journal"), test::machine(), {});
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    const std::string error = open_error(folder.file("a.journal"));
    expect_error(error, "75 " + folder.file("a.journal"), "held by pid " + std::to_string(::getpid()) + " on host " + host.data());
    fs::create_symlink(folder.path(), folder.file("same"));
    EXPECT_TRUE(open_error(folder.file("same/a.journal")).starts_with("75 "));
}

TEST(Journal, AReaderNeverBlocksTheWriter) {
    const Folder folder;
    Journal writer = Journal::open(folder.file("a.journal"), test::machine(), {});
    writer.record(test::trial(8));
    const Journal reader = Journal::open_for_reading(folder.file("a.journal"));
    writer.record(test::trial(16));
    EXPECT_EQ(reader.trials(test::machine()).size(), 1U);
    EXPECT_EQ(writer.trials(test::machine()).size(), 2U);
}

TEST(Journal, AReaderCannotWrite) {
    const Folder folder;
    (void)Journal::open(folder.file("a.journal"), test::machine(), {});
    Journal reader = Journal::open_for_reading(folder.file("a.journal"));
    EXPECT_THROW(reader.record(test::trial()), core::Error);
    EXPECT_THROW(reader.set_value("a", "b"), core::Error);
    EXPECT_THROW(reader.store_cuts({}), core::Error);
}

TEST(Journal, DamagedRowsAreSkippedAndCounted) {
    const Folder folder;
    const std::string path = folder.file("a.journal");
    {
        Journal journal = Journal::open(path, test::machine(), {});
        for (int i = 0; i < 6; ++i)
            journal.record(test::trial(8));
    }
    sql(path, "UPDATE trial SET ratio = ratio + 0.1 WHERE id=2");
    sql(path, "UPDATE trial SET config_ns = x'0102' WHERE id=3");
    sql(path, "UPDATE trial SET key = 'nonsense' WHERE id=4");
    sql(path, "UPDATE trial SET launch = 'other' WHERE id=5");
    const Journal journal = Journal::open_for_reading(path);
    const std::vector<Trial> trials = journal.trials(test::machine());
    ASSERT_EQ(trials.size(), 2U);
    EXPECT_EQ(trials[0].id, 1);
    EXPECT_EQ(trials[1].id, 6);
    EXPECT_EQ(journal.damaged(), 4U);
    (void)journal.trials(test::machine());
    EXPECT_EQ(journal.damaged(), 4U);  // counted once each
}

TEST(Journal, OtherFilesAreRefusedWithTheReason) {
    const Folder folder;
    test::write_bytes(folder.file("garbage"), std::vector<std::byte>(5000, std::byte{'x'}));
    expect_error(open_error(folder.file("garbage")), "4 " + folder.file("garbage"), "not a database");
    sql(folder.file("foreign"), "CREATE TABLE t(x)");
    expect_error(open_error(folder.file("foreign")), "4 ", "not a journal of attune");
    write_release(folder.file("release"), test::content());
    expect_error(open_error(folder.file("release")), "4 ", "is a release, not a journal");
    fs::create_directory(folder.file("folder"));
    expect_error(open_error(folder.file("folder")), "4 ", "no regular file");
    ASSERT_EQ(::mkfifo(folder.file("fifo").c_str(), 0600), 0);
    expect_error(open_error(folder.file("fifo")), "4 ", "no regular file");
    EXPECT_TRUE(test::error_of([&] { (void)Journal::open_for_reading(folder.file("missing")); }).starts_with("3 "));
    EXPECT_FALSE(fs::exists(folder.file("missing")));
}

TEST(Journal, ANewerOrChangedJournalIsRefused) {
    const Folder folder;
    const std::string path = folder.file("a.journal");
    (void)Journal::open(path, test::machine(), {});
    sql(path, "PRAGMA user_version=2");
    expect_error(open_error(path), "4 " + path, "has format 2, newer than 1");
    expect_error(test::error_of([&] { (void)Journal::open_for_reading(path); }), "4 " + path, "has format 2, newer than 1");
    sql(path, "PRAGMA user_version=1; CREATE TRIGGER t AFTER INSERT ON trial BEGIN DELETE FROM trial; END");
    expect_error(open_error(path), "4 " + path, "schema differs at 't'");
}

TEST(Journal, ACorruptFileIsRefusedWithARemedy) {
    const Folder folder;
    const std::string path = folder.file("a.journal");
    {
        Journal journal = Journal::open(path, test::machine(), {});
        for (int i = 0; i < 10; ++i)
            journal.set_value("v" + std::to_string(i), std::string(3000, 'x'));
    }
    auto bytes = test::bytes_of(path);
    for (std::size_t page = 4096 * 2; page < bytes.size(); page += 4096)
        bytes[page] = std::byte{0x77};  // the type of each b-tree page
    test::write_bytes(path, bytes);
    expect_error(open_error(path), "4 " + path, "move it aside and tune again");
}

TEST(Journal, AnEmptyFileBecomesAJournal) {
    const Folder folder;
    test::write_bytes(folder.file("a.journal"), {});
    EXPECT_TRUE(Journal::open_for_reading(folder.file("a.journal")).identities().empty());
    EXPECT_TRUE(is_journal(folder.file("a.journal")));
    EXPECT_TRUE(test::bytes_of(folder.file("a.journal")).empty()) << "reading wrote into it";
    EXPECT_GT(Journal::open(folder.file("a.journal"), test::machine(), {}).record(test::trial()), 0);
}

TEST(Journal, CreatesItsFolder) {
    const Folder folder;
    EXPECT_GT(Journal::open(folder.file("one/two/a.journal"), test::machine(), {}).record(test::trial()), 0);
}

TEST(Journal, AReadOnlyFileIsNamedWithARemedy) {
    const Folder folder;
    const std::string path = folder.file("a.journal");
    (void)Journal::open(path, test::machine(), {});
    fs::permissions(path, fs::perms::owner_read | fs::perms::others_read);
    fs::permissions(path + ".lock", fs::perms::all);
    EXPECT_EQ(test::as_unprivileged([&] {
                  const std::string error = open_error(path);
                  return error.starts_with("1 " + path) && error.find("read-only") != std::string::npos && error.find("--journal") != std::string::npos ? 0 : 1;
              }),
              0);
    EXPECT_EQ(test::as_unprivileged([&] { return Journal::open_for_reading(path).identities().size() == 1 ? 0 : 1; }), 0);
}

TEST(Journal, AFolderThatCannotBeWrittenIsNamedWithARemedy) {
    const Folder folder;
    fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_read | fs::perms::others_exec);
    EXPECT_EQ(test::as_unprivileged([&] {
                  const std::string error = open_error(folder.file("a.journal"));
                  return error.starts_with("1 " + folder.file("a.journal")) && error.find("--journal") != std::string::npos ? 0 : 1;
              }),
              0);
}

// A file-size limit stops writes as a full disk does; the journal keeps what it had.
TEST(Journal, AFullDiskIsOneClearLine) {
    const Folder folder;
    const std::string path = folder.file("a.journal");
    fs::permissions(folder.path(), fs::perms::all);
    const int status = test::as_unprivileged([&] {
        std::signal(SIGXFSZ, SIG_IGN);
        Journal journal = Journal::open(path, test::machine(), {});
        journal.record(test::trial(8));
        const rlimit limit{fs::file_size(path) + 4096, fs::file_size(path) + 4096};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        Trial big = test::trial(16);
        big.default_ns.assign(20000, 1.0);
        const std::string error = test::error_of([&] { journal.record(big); });
        const bool clear = error.starts_with("1 " + path) && error.find("disk full") != std::string::npos;
        return clear && journal.trials(test::machine()).size() == 1 ? 0 : 1;
    });
    EXPECT_EQ(status, 0);
    EXPECT_EQ(Journal::open_for_reading(path).trials(test::machine()).size(), 1U);
}

TEST(Journal, RefusesValuesThatItCouldNotReadBack) {
    const Folder folder;
    Journal journal = Journal::open(folder.file("a.journal"), test::machine(), {});
    Trial trial = test::trial(1ULL << 63);
    EXPECT_THROW(journal.record(trial), core::Error);
    trial = test::trial();
    trial.ratio = std::numeric_limits<double>::quiet_NaN();
    EXPECT_THROW(journal.record(trial), core::Error);
    EXPECT_TRUE(journal.trials(test::machine()).empty());
    EXPECT_GT(journal.record(test::trial()), 0);  // and goes on
}

TEST(Journal, IsToldFromOtherFiles) {
    const Folder folder;
    (void)Journal::open(folder.file("a.journal"), test::machine(), {});
    write_release(folder.file("a.db"), test::content());
    test::write_bytes(folder.file("short"), std::vector<std::byte>(50));
    EXPECT_TRUE(is_journal(folder.file("a.journal")));
    for (const std::string& other : {folder.file("a.db"), folder.file("short"), folder.file("missing"), folder.path()})
        EXPECT_FALSE(is_journal(other)) << other;
}

TEST(Journal, PathFollowsTheRelease) {
    EXPECT_EQ(journal_path_of("/a/x.attune.db"), "/a/x.attune.journal");
    EXPECT_EQ(journal_path_of("attune.db"), "attune.journal");
    EXPECT_EQ(journal_path_of("/a.db/x"), "/a.db/x.journal");
}

TEST(FileSystem, NetworkFileSystemsAreRefusedByName) {
    for (const auto& [magic, name] : {std::pair<std::uint64_t, const char*>{0x6969, "NFS"},
                                      {0xff534d42, "CIFS"},
                                      {0xfe534d42, "SMB2"},
                                      {0x0bd00bd0, "Lustre"},
                                      {0x47504653, "GPFS"},
                                      {0x19830326, "BeeGFS"},
                                      {0x00c36400, "CephFS"},
                                      {0x65735546, "FUSE"}}) {
        expect_error(test::error_of([m = magic] { refuse_network_file_system("/home/a.journal", m); }), "1 /home/a.journal", name);
        expect_error(test::error_of([m = magic] { refuse_network_file_system("/home/a.journal", m | 0xffffffff00000000ULL); }), "1 /home/a.journal",
                     "--journal");
    }
    for (const std::uint64_t local : {0xef53ULL, 0x01021994ULL, 0x58465342ULL, 0x9123683eULL, 0x794c7630ULL}) {
        EXPECT_FALSE(network_file_system(local));
    }
}

}  // namespace attune::db
