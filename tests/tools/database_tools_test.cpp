// attune-db and attune-lookup as a user starts them: output, exit codes, one line for each thing that can be wrong, and JSON that fits its schema.
#include "collectives/catalogue.hpp"
#include "collectives/default_config.hpp"
#include "db/journal.hpp"
#include "db/release.hpp"
#include "libcore/topology.hpp"
#include "tests/support/valid_document.hpp"
#include "tuner/ladder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace {

using attune::test::ProcessResult;
using attune::test::valid_document;
namespace core = attune::core;
namespace db = attune::db;
namespace fs = std::filesystem;

class DatabaseTools : public testing::Test {
protected:
    ProcessResult run(std::vector<std::string> words, std::vector<std::pair<std::string, std::string>> environment = {}) {
        words.front() = std::string(ATTUNE_BIN_FOLDER) + "/" + words.front();
        environment.emplace_back("XDG_DATA_HOME", folder_.path() + "/data");
        return attune::test::run_process(words, {.environment = environment, .folder = {}});
    }
    // One row of this machine and one of another, where the user's database belongs.
    void publish() { db::write_release(release_, content()); }
    db::ReleaseContent content() {
        db::ReleaseContent out;
        const db::Identity here = db::identity_of(core::discover_topology());
        db::Identity there = here;
        there.fields.at(2).second = "4711";
        out.rows = {row(here, "all_reduce"), row(there, "broadcast")};
        out.utc = "2026-11-30T12:00:00Z";
        out.tool_version = "0.1.0";
        return out;
    }
    static db::ReleaseRow row(const db::Identity& identity, const std::string& collective) {
        db::ReleaseRow out;
        out.identity = identity;
        out.row.key.collective = collective;
        out.row.key.dtype_class = "float32";
        out.row.key.op = "sum";
        out.row.key.ranks = 2;
        out.row.key.node_map = "1x2";
        out.row.key.transport = "shm";
        out.row.low_bytes = 8;
        out.row.high_bytes = 512;
        out.row.config = core::Config::parse("algorithm=ring");
        // Usable by a job of today: proven against the default of two ranks.
        attune::collectives::Problem problem;
        problem.ranks = 2;
        problem.count = 2;
        out.row.default_config = attune::collectives::default_config(problem, core::discover_topology());
        out.row.default_version = attune::collectives::default_version;
        out.row.algorithm_version = attune::collectives::find_algorithm(problem.collective, "ring")->version;
        out.row.instruction_set = "generic";
        out.row.default_ns = 2000;
        out.row.best_ns = 1500;
        out.row.gain = 1.33;
        out.row.gain_low = 1.3;
        out.row.gain_high = 1.4;
        out.evidence.utc = "2026-11-30T12:00:00Z";
        out.evidence.classes = {{"c0", 21, 1.33, 1.3, 1.4}};
        return out;
    }
    void record(std::uint64_t bytes) {
        db::Journal journal = db::Journal::open(journal_, db::identity_of(core::discover_topology()), {});
        db::Trial trial;
        trial.key = row({}, "all_reduce").row.key;
        trial.phase = "search";
        trial.bytes = bytes;
        journal.record(trial);
    }
    // Three launches in which `two_shot` beats `ring` by half and the default shows no noise.
    void record_a_proof() {
        db::Journal journal = db::Journal::open(journal_, db::identity_of(core::discover_topology()), {});
        db::Trial trial;
        trial.run = "run";
        trial.key = row({}, "all_reduce").row.key;
        trial.bytes = 4096;
        trial.default_config = attune::collectives::default_config(*attune::tuner::problem_of_key(trial.key, trial.bytes), core::discover_topology());
        trial.default_version = attune::collectives::default_version;
        trial.placement = "c0";
        trial.utc = "2026-11-30T12:00:00Z";
        for (int block = 0; block < 24; ++block) {
            trial.launch = "launch-" + std::to_string(block % 3);
            trial.phase = "floor";
            trial.config = trial.default_config;
            trial.algorithm_version =
                attune::collectives::find_algorithm(attune::collectives::Collective::all_reduce, trial.default_config.algorithm())->version;
            trial.ratio = 1.0 + 0.0001 * (block % 5);
            trial.default_ns = {3000, 3000};
            trial.config_ns = {3000, 3000};
            journal.record(trial);
            trial.phase = "confirm";
            trial.config = core::Config::parse("algorithm=two_shot");
            trial.algorithm_version = attune::collectives::find_algorithm(attune::collectives::Collective::all_reduce, "two_shot")->version;
            trial.ratio = 1.5 + 0.001 * (block % 5);
            trial.config_ns = {2000, 2000};
            journal.record(trial);
        }
    }
    static std::size_t lines(const std::string& text) { return static_cast<std::size_t>(std::ranges::count(text, '\n')); }

    attune::test::TemporaryFolder folder_;
    std::string release_ = folder_.path() + "/data/attune/attune.db";
    std::string journal_ = folder_.path() + "/data/attune/attune.journal";
};

}  // namespace

TEST_F(DatabaseTools, LookupAnswersWithoutAnyDatabase) {
    const ProcessResult result = run({"attune-lookup", "all_reduce", "64K", "-n", "2", "--json"});
    EXPECT_EQ(result.code, 0);
    EXPECT_EQ(result.err, "");
    const auto parsed = valid_document(result, "attune.lookup.1");
    EXPECT_EQ(parsed["source"], "default");
    EXPECT_EQ(parsed["query"]["bytes"], 65536);
    EXPECT_FALSE(parsed["config"].get<std::string>().empty());
}

TEST_F(DatabaseTools, LookupExplainsWhatItTried) {
    publish();
    const ProcessResult result = run({"attune-lookup", "all_reduce", "64K", "-n", "2", "--explain"});
    EXPECT_EQ(result.code, 0);
    for (const char* part : {"user", "used", "cpu_vendor", "stored", "To tune this problem: attune-tune all_reduce -n 2 -b 64K -e 64K"})
        EXPECT_NE(result.out.find(part), std::string::npos) << part << "\n" << result.out;
}

TEST_F(DatabaseTools, LookupWithRequireExitsThreeOrFour) {
    ProcessResult result = run({"attune-lookup", "all_reduce", "64K", "--require"});
    EXPECT_EQ(result.code, 3);
    EXPECT_EQ(lines(result.err), 1U) << result.err;
    result = run({"attune-lookup", "all_reduce", "64K"}, {{"ATTUNE_DB_MODE", "require"}});
    EXPECT_EQ(result.code, 3);
    publish();
    fs::resize_file(release_, 4000);
    result = run({"attune-lookup", "all_reduce", "64K", "--require"});
    EXPECT_EQ(result.code, 4);
    EXPECT_EQ(lines(result.err), 1U) << result.err;
    EXPECT_NE(result.err.find(release_ + ": truncated"), std::string::npos) << result.err;
    result = run({"attune-lookup", "all_reduce", "64K"});
    EXPECT_EQ(result.code, 0);
    EXPECT_EQ(lines(result.err), 1U) << result.err;
}

TEST_F(DatabaseTools, LookupRefusesWrongWordsAndSizes) {
    for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{{"all_reduce"},
                                                                                       {"all_reduce", "64KB"},
                                                                                       {"all_reduce", "8", "-d", "flot32"},
                                                                                       {"all_reduce", "8", "-o", "summ"},
                                                                                       {"broadcast", "8", "-n", "2", "-r", "2"},
                                                                                       {"all_reduce", "8", "--transport", "smh"},
                                                                                       {"all_reduce", "8", "--binding", "bond"}}) {
        std::vector<std::string> all = words;
        all.insert(all.begin(), "attune-lookup");
        const ProcessResult result = run(all);
        EXPECT_EQ(result.code, 2) << words.back();
        EXPECT_EQ(lines(result.err), 1U) << result.err;
    }
    EXPECT_EQ(run({"attune-lookup", "all_reduce", "8"}, {{"ATTUNE_DB_MODE", "requier"}}).code, 2);
    EXPECT_EQ(run({"attune-lookup", "all_reduce", "8"}, {{"ATTUNE_DB_MIN_GRADE", "model"}}).code, 2);
    EXPECT_EQ(run({"attune-lookup", "all_reduce", "8", "--require"}, {{"ATTUNE_DB_MODE", "off"}}).code, 2);
}

TEST_F(DatabaseTools, WhereNamesEveryLayerAndTheJournal) {
    ProcessResult result = run({"attune-db", "where"});
    EXPECT_EQ(result.code, 0);
    for (const char* part : {"user", "site", "system", "journal", "/etc/attune/attune.db"})
        EXPECT_NE(result.out.find(part), std::string::npos) << part;
    publish();
    record(8);
    const auto parsed = valid_document(run({"attune-db", "where", "--json"}), "attune.db_where.1");
    EXPECT_EQ(parsed["layers"][0]["state"], "used");
    EXPECT_EQ(parsed["layers"][0]["rows"], 1);
    EXPECT_EQ(parsed["journal"]["state"], "present");
    EXPECT_EQ(parsed["journal"]["trials"], 1);
    EXPECT_EQ(parsed["release"], release_);
}

TEST_F(DatabaseTools, ListShowsThisMachinesRowsOrAll) {
    publish();
    EXPECT_EQ(valid_document(run({"attune-db", "list", "--json"}), "attune.db_list.1")["rows"].size(), 1U);
    const auto all = valid_document(run({"attune-db", "list", "--json", "--all"}), "attune.db_list.1");
    ASSERT_EQ(all["rows"].size(), 2U);
    EXPECT_NE(all["rows"][0]["here"], all["rows"][1]["here"]);
    EXPECT_EQ(valid_document(run({"attune-db", "list", "--json", "--all", "--collective", "broadcast"}), "attune.db_list.1")["rows"].size(), 1U);
    const ProcessResult text = run({"attune-db", "list"});
    EXPECT_NE(text.out.find("1.33x [1.30,1.40]"), std::string::npos) << text.out;
    EXPECT_NE(text.out.find("2026-11-30"), std::string::npos);
    EXPECT_NE(run({"attune-db", "list", "--collective", "barrier"}).out.find("No row"), std::string::npos);
    const ProcessResult wrong = run({"attune-db", "list", "--collective", "brodcast"});
    EXPECT_EQ(wrong.code, 2);
    EXPECT_NE(wrong.err.find("did you mean 'broadcast'"), std::string::npos) << wrong.err;
}

TEST_F(DatabaseTools, LookupFollowsTheTransportOfTheEnvironment) {
    publish();
    EXPECT_NE(run({"attune-lookup", "all_reduce", "64", "-n", "2"}, {{"ATTUNE_TRANSPORT", "local"}}).out.find("local"), std::string::npos);
    const ProcessResult wrong = run({"attune-lookup", "all_reduce", "64", "-n", "2"}, {{"ATTUNE_TRANSPORT", "tcpp"}});
    EXPECT_EQ(wrong.code, 2);
    EXPECT_NE(wrong.err.find("tcp"), std::string::npos) << wrong.err;
}

TEST_F(DatabaseTools, ListTellsADamagedAndAMissingFileByItsExitCode) {
    publish();
    EXPECT_EQ(run({"attune-db", "list"}).code, 0);
    EXPECT_EQ(run({"attune-db", "list", "--db", folder_.path() + "/none.db"}).code, 3);
    fs::resize_file(release_, 4000);
    EXPECT_EQ(run({"attune-db", "list"}).code, 4);
}

TEST_F(DatabaseTools, PublishingWithoutAHomeOfTheUserWritesNothingForTheWholeMachine) {
    const ProcessResult result = attune::test::run_process({std::string(ATTUNE_BIN_FOLDER) + "/attune-db", "publish", "--journal", journal_},
                                                           {.environment = {{"HOME", ""}, {"XDG_DATA_HOME", "relative"}}, .folder = {}});
    EXPECT_EQ(result.code, 1);
    EXPECT_NE(result.err.find("no place for the database"), std::string::npos) << result.err;
}

TEST_F(DatabaseTools, WhereWithoutAHomeOfTheUserNamesNoFileToPublishTo) {
    const ProcessResult result = attune::test::run_process({std::string(ATTUNE_BIN_FOLDER) + "/attune-db", "where", "--json"},
                                                           {.environment = {{"HOME", ""}, {"XDG_DATA_HOME", "relative"}}, .folder = {}});
    EXPECT_EQ(result.code, 0) << result.err;
    const auto parsed = valid_document(result, "attune.db_where.1");
    EXPECT_TRUE(parsed["release"].is_null());
    EXPECT_EQ(parsed["journal"]["state"], "missing");
}

TEST_F(DatabaseTools, TuneAndPublishWriteToTheFirstFileOfTheEnvironment) {
    record_a_proof();
    const std::string first = folder_.path() + "/first.attune.db";
    const ProcessResult result =
        run({"attune-db", "publish", "--journal", journal_}, {{"ATTUNE_DB", ":" + first + ":" + folder_.path() + "/second.attune.db"}});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(db::read_release(first).rows.size(), 1U);
    for (const char* tool : {"attune-db", "attune-tune"}) {
        const ProcessResult none = run({tool, tool == std::string("attune-db") ? "publish" : "barrier"}, {{"ATTUNE_DB", ":"}});
        EXPECT_EQ(none.code, 2) << tool;
        EXPECT_NE(none.err.find("ATTUNE_DB names no file"), std::string::npos) << none.err;
    }
}

TEST_F(DatabaseTools, ModeOffIsSaidOfEveryFile) {
    publish();
    const auto parsed = valid_document(run({"attune-db", "where", "--json"}, {{"ATTUNE_DB_MODE", "off"}}), "attune.db_where.1");
    EXPECT_EQ(parsed["layers"][0]["state"], "switched off");
    EXPECT_NE(parsed["layers"][0]["reason"].get<std::string>().find("ATTUNE_DB_MODE=off"), std::string::npos);
    EXPECT_EQ(parsed["layers"][1]["state"], "missing");
    EXPECT_NE(run({"attune-db", "list"}, {{"ATTUNE_DB_MODE", "off"}}).err.find("ATTUNE_DB_MODE=off"), std::string::npos);
}

TEST_F(DatabaseTools, AnEmptyJournalIsOneWithoutTrialsEverywhere) {
    fs::create_directories(fs::path(journal_).parent_path());
    std::ofstream(journal_).close();
    const auto where = valid_document(run({"attune-db", "where", "--json"}), "attune.db_where.1");
    EXPECT_EQ(where["journal"]["state"], "present");
    EXPECT_EQ(where["journal"]["trials"], 0);
    const ProcessResult verified = run({"attune-db", "verify"});
    EXPECT_EQ(verified.code, 0) << verified.err;
    EXPECT_NE(verified.out.find("sound journal: 0 trials"), std::string::npos) << verified.out;
    EXPECT_EQ(run({"attune-db", "verify", journal_}).code, 0);
    const ProcessResult published = run({"attune-db", "publish"});
    EXPECT_EQ(published.code, 3);
    EXPECT_NE(published.err.find("holds no trial of this machine"), std::string::npos) << published.err;
    EXPECT_EQ(fs::file_size(journal_), 0U) << "reading wrote into it";
    const std::string other = folder_.path() + "/other.db";  // named as journal, not by its name
    std::ofstream(other).close();
    EXPECT_EQ(run({"attune-db", "verify", "--journal", other}).code, 0);
}

TEST_F(DatabaseTools, ShowFindsARowByIdAndByKey) {
    publish();
    const auto listed = valid_document(run({"attune-db", "list", "--json"}), "attune.db_list.1")["rows"][0];
    const std::string id = listed["row"];
    const ProcessResult by_id = run({"attune-db", "show", id.substr(0, 8)});
    EXPECT_EQ(by_id.code, 0) << by_id.err;
    EXPECT_EQ(by_id.out, run({"attune-db", "show", listed["key"]}).out);
    for (const char* part : {"c0", "1.33x [1.30,1.40]", "cpu_vendor", "algorithm=ring", "algorithm=one_shot"})
        EXPECT_NE(by_id.out.find(part), std::string::npos) << part;
    EXPECT_EQ(valid_document(run({"attune-db", "show", id, "--json"}), "attune.db_show.1")["rows"][0]["differences"].size(), 0U);
    const ProcessResult missing = run({"attune-db", "show", "ffffffffffffffff0"});
    EXPECT_EQ(missing.code, 3);
    EXPECT_EQ(lines(missing.err), 1U) << missing.err;
}

TEST_F(DatabaseTools, ShowAlonePrintsTheGrid) {
    EXPECT_EQ(run({"attune-db", "show"}).code, 3);
    publish();
    record(4096);
    const ProcessResult result = run({"attune-db", "show"});
    EXPECT_EQ(result.code, 0) << result.err;
    for (const char* part : {"all_reduce", "8 B  1.33x [1.30,1.40]", "512 B", "4 KiB", "same"})
        EXPECT_NE(result.out.find(part), std::string::npos) << part << result.out;
    EXPECT_EQ(result.out.find("broadcast"), std::string::npos);
}

TEST_F(DatabaseTools, VerifyTellsSoundFromDamagedAndMissing) {
    EXPECT_EQ(run({"attune-db", "verify"}).code, 3);
    publish();
    record(8);
    ProcessResult result = run({"attune-db", "verify"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(lines(result.out), 2U) << result.out;
    fs::copy_file(release_, folder_.path() + "/bad.db");
    fs::resize_file(folder_.path() + "/bad.db", 4100);
    result = run({"attune-db", "verify", release_, folder_.path() + "/bad.db", "--json"});
    EXPECT_EQ(result.code, 4);
    EXPECT_NE(result.err.find("bad.db: truncated"), std::string::npos) << result.err;
    const auto parsed = valid_document(result, "attune.db_verify.1");
    EXPECT_EQ(parsed["files"][0]["ok"], true);
    EXPECT_EQ(parsed["files"][1]["ok"], false);
    EXPECT_EQ(run({"attune-db", "verify", folder_.path() + "/none.db"}).code, 3);
    EXPECT_EQ(run({"attune-db", "verify", folder_.path()}).code, 4);
}

TEST_F(DatabaseTools, VerifyFindsADamagedTrial) {
    record(8);
    std::fstream file(journal_, std::ios::in | std::ios::out | std::ios::binary);
    const std::string content((std::istreambuf_iterator<char>(file)), {});
    const std::size_t at = content.find("searchcollective/");  // phase and key lie side by side in the row
    ASSERT_NE(at, std::string::npos);
    file.clear();
    file.seekp(static_cast<std::streamoff>(at));
    file.put('S');
    file.close();
    const ProcessResult result = run({"attune-db", "verify", journal_});
    EXPECT_EQ(result.code, 4);
    EXPECT_NE(result.err.find("1 of 1 trials are damaged"), std::string::npos) << result.err;
}

TEST_F(DatabaseTools, PublishWritesWhatTheJournalProves) {
    record_a_proof();
    const auto parsed = valid_document(run({"attune-db", "publish", "--json"}), "attune.db_publish.1");
    EXPECT_EQ(parsed["release"], release_);
    EXPECT_EQ(parsed["rows"], 1) << parsed.dump(2);
    const db::ReleaseContent published = db::read_release(release_);
    ASSERT_EQ(published.rows.size(), 1U);
    EXPECT_EQ(published.rows[0].row.config.algorithm(), "two_shot");
    EXPECT_EQ(published.rows[0].evidence.launches, 3U);
    EXPECT_NEAR(published.rows[0].row.gain, 1.5, 0.01);
    EXPECT_EQ(run({"attune-db", "verify"}).code, 0);
}

TEST_F(DatabaseTools, PublishKeepsRowsOfOtherMachines) {
    publish();
    record_a_proof();
    const ProcessResult result = run({"attune-db", "publish"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_NE(result.out.find(release_ + ": 2 rows for this machine, 1 of them from this journal"), std::string::npos) << result.out;
    EXPECT_EQ(db::read_release(release_).rows.size(), 3U);
    EXPECT_TRUE(fs::exists(release_ + ".previous"));
}

TEST_F(DatabaseTools, PublishWithoutAProofStillWritesARelease) {
    record(8);
    EXPECT_EQ(run({"attune-db", "publish"}).code, 0);
    const db::ReleaseContent published = db::read_release(release_);
    EXPECT_TRUE(published.rows.empty());
    EXPECT_EQ(published.identities.size(), 1U);
}

TEST_F(DatabaseTools, PublishPutsADamagedReleaseAside) {
    publish();
    fs::resize_file(release_, 4000);
    record_a_proof();
    const ProcessResult result = run({"attune-db", "publish"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_NE(result.err.find(release_ + ".damaged"), std::string::npos) << result.err;
    EXPECT_EQ(fs::file_size(release_ + ".damaged"), 4000U);
    EXPECT_EQ(db::read_release(release_).rows.size(), 1U);
}

TEST_F(DatabaseTools, PublishWithoutAJournalSaysWhatToDo) {
    const ProcessResult result = run({"attune-db", "publish"});
    EXPECT_EQ(result.code, 3);
    EXPECT_EQ(lines(result.err), 1U) << result.err;
    EXPECT_FALSE(fs::exists(release_));
}
