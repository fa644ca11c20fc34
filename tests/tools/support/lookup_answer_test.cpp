// What a job would use: every query is answered, rows are used only when they cover it, and the reason is always there.
#include "apps/tools/support/lookup_answer.hpp"

#include "collectives/catalogue.hpp"
#include "collectives/default_config.hpp"
#include "collectives/sample_amounts.hpp"
#include "libcore/error.hpp"
#include "tests/support/run_process.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace attune::tools {

namespace {

using collectives::Collective;

Machine machine(int model = 97) {
    Machine out;
    out.topology.cpu_vendor = "AuthenticAMD";
    out.topology.cpu_family = 25;
    out.topology.cpu_model = model;
    out.topology.instruction_set = "avx2";
    out.topology.allowed.cpus = {0, 1, 2, 3};
    out.identity = db::identity_of(out.topology);
    return out;
}

db::Rules rules(db::Mode mode, const Machine& here = machine()) {
    db::Rules out = rules_of({}, here.topology);
    out.mode = mode;
    return out;
}

LookupQuery query(Collective collective, std::uint64_t bytes, int ranks = 4) {
    LookupQuery out;
    out.problem.collective = collective;
    out.problem.ranks = ranks;
    out.problem.node_map = "1x" + std::to_string(ranks);
    out.problem = collectives::with_elements(out.problem, bytes / core::size_of(out.problem.dtype));
    out.asked_bytes = bytes;
    return out;
}

// A row that the chooser accepts for all sizes in the interval.
db::ReleaseRow row(Collective collective, std::uint64_t low, std::uint64_t high, const std::string& algorithm) {
    const LookupQuery asked = query(collective, low);
    collectives::ChooserFacts facts;
    facts.topology = machine().topology;
    db::ReleaseRow out;
    out.identity = machine().identity;
    out.row.key = collectives::key_of(asked.problem, facts);
    out.row.low_bytes = low;
    out.row.high_bytes = high;
    out.row.config.set("algorithm", algorithm);
    out.row.default_config = collectives::default_config(asked.problem, machine().topology);
    out.row.default_version = collectives::default_version;
    const collectives::Algorithm* known = collectives::find_algorithm(collective, algorithm);
    out.row.algorithm_version = known != nullptr ? known->version : 1;
    out.row.instruction_set = "avx2";
    out.row.default_ns = 4000;
    out.row.best_ns = 3000;
    out.row.gain = 1.33;
    out.row.gain_low = 1.3;
    out.row.gain_high = 1.4;
    out.evidence.launches = 3;
    out.evidence.blocks = 21;
    out.evidence.utc = "2026-11-30T12:00:00Z";
    out.evidence.classes = {{"c0", 21, 1.33, 1.3, 1.4}};
    return out;
}

class Lookup : public testing::Test {
protected:
    void publish(const std::vector<db::ReleaseRow>& rows) {
        db::ReleaseContent content;
        content.rows = rows;
        content.utc = "2026-11-30T12:00:00Z";
        content.tool_version = "0.1.0";
        db::write_release(path_, content);
    }
    LookupAnswer ask(const LookupQuery& asked, db::Mode mode = db::Mode::use, const Machine& here = machine()) {
        return look_up(asked, here, {{{"explicit", path_, true}}, rules(mode, here), {}});
    }
    test::TemporaryFolder folder_;
    std::string path_ = folder_.path() + "/a.attune.db";
};

}  // namespace

TEST_F(Lookup, WithoutAnyDatabaseTheDefaultIsTheAnswer) {
    for (const Collective collective : collectives::all_collectives()) {
        for (const std::uint64_t bytes : {0ULL, 1ULL, 8ULL, 1000003ULL, 1ULL << 40}) {
            for (const int ranks : {1, 2, 3, 7, 64}) {
                const LookupQuery asked = query(collective, bytes, ranks);
                const LookupAnswer answer = ask(asked);
                EXPECT_EQ(answer.choice.source, collectives::ChoiceSource::standard);
                EXPECT_EQ(answer.choice.config, collectives::default_config(asked.problem, machine().topology));
                EXPECT_EQ(answer.match, "none");
                EXPECT_FALSE(answer.distance);
                EXPECT_FALSE(answer.choice.reason.empty());
                EXPECT_EQ(answer.exit_code(), 0);
                EXPECT_NE(lookup_text(answer).find("default"), std::string::npos);
                EXPECT_NE(explain_text(answer).find(path_), std::string::npos);
            }
        }
    }
}

TEST_F(Lookup, ARowThatCoversTheSizeIsUsed) {
    publish({row(Collective::all_reduce, 64, 64, "ring")});
    const LookupAnswer answer = ask(query(Collective::all_reduce, 64));
    EXPECT_EQ(answer.choice.source, collectives::ChoiceSource::tuned) << answer.choice.reason;
    EXPECT_EQ(answer.choice.config.algorithm(), "ring");
    EXPECT_EQ(answer.match, "exact");
    EXPECT_EQ(answer.distance, 0.0);
    const std::string text = lookup_text(answer);
    for (const char* part : {"tuned", "exact: proven for 64 B", "1.33x [1.30,1.40]", "3 launches, 21 blocks"})
        EXPECT_NE(text.find(part), std::string::npos) << text;
    EXPECT_NE(text.find(path_), std::string::npos);
    const Json document = lookup_json(answer, machine().topology);
    EXPECT_EQ(document["gain"], 1.33);
    EXPECT_EQ(document["proven"], true);
    EXPECT_EQ(document["evidence"]["launches"], 3);
    EXPECT_EQ(document["evidence"]["classes"][0]["class"], "c0");
    EXPECT_EQ(document["file"], path_);
}

TEST_F(Lookup, ARowOfAnotherSizeIsShownWithItsDistanceAndNotUsed) {
    publish({row(Collective::all_reduce, 8, 16, "ring"), row(Collective::all_reduce, 1024, 2048, "ring")});
    const LookupAnswer answer = ask(query(Collective::all_reduce, 256));
    EXPECT_EQ(answer.choice.source, collectives::ChoiceSource::standard);
    EXPECT_EQ(answer.match, "nearest");
    EXPECT_EQ(answer.distance, 2.0);
    ASSERT_EQ(answer.near.size(), 2U);
    EXPECT_EQ(answer.near[1].distance, 4.0);
    EXPECT_NE(explain_text(answer).find("1 KiB .. 2 KiB"), std::string::npos);
    const Json document = lookup_json(answer, machine().topology);
    EXPECT_EQ(document["source"], "default");
    EXPECT_TRUE(document["gain"].is_null());
    EXPECT_TRUE(document["evidence"].is_null());
    EXPECT_EQ(document["nearby"].size(), 2U);
}

TEST_F(Lookup, ASkippedRowKeepsItsReason) {
    publish({row(Collective::all_reduce, 64, 64, "quantum_ring")});
    const LookupAnswer answer = ask(query(Collective::all_reduce, 64));
    EXPECT_EQ(answer.choice.source, collectives::ChoiceSource::standard);
    EXPECT_NE(lookup_text(answer).find("unknown algorithm 'quantum_ring'"), std::string::npos) << lookup_text(answer);
    EXPECT_TRUE(answer.near.empty());
}

TEST_F(Lookup, ASkippedRowHidesNoRowOfALaterFile) {
    publish({row(Collective::all_reduce, 64, 64, "ring")});
    db::ReleaseContent stale;
    stale.rows = {row(Collective::all_reduce, 64, 64, "ring")};
    stale.rows[0].row.default_version += 1;
    stale.utc = "2026-11-30T12:00:00Z";
    stale.tool_version = "0.1.0";
    const std::string first = folder_.path() + "/stale.db";
    db::write_release(first, stale);
    const std::vector<db::Layer> both = {{"job", first, true}, {"job", path_, true}};
    const LookupAnswer answer = look_up(query(Collective::all_reduce, 64), machine(), {both, rules(db::Mode::require), {}});
    EXPECT_EQ(answer.choice.source, collectives::ChoiceSource::tuned) << lookup_text(answer);
    EXPECT_EQ(answer.exit_code(), 0);
    const LookupAnswer alone = look_up(query(Collective::all_reduce, 64), machine(), {{both[0]}, rules(db::Mode::require), {}});
    EXPECT_EQ(alone.exit_code(), 3);
    EXPECT_NE(alone.message().find("1 of 1 row skipped: proven against default version"), std::string::npos) << alone.message();
}

TEST_F(Lookup, TheGradeExactRefusesASizeInsideAnInterval) {
    publish({row(Collective::all_reduce, 64, 512, "ring")});
    const auto source = [&](std::uint64_t bytes, db::Grade grade) {
        db::Rules graded = rules(db::Mode::use);
        graded.grade = grade;
        return look_up(query(Collective::all_reduce, bytes), machine(), {{{"job", path_, true}}, graded, {}}).choice.source;
    };
    EXPECT_EQ(source(128, db::Grade::interval), collectives::ChoiceSource::tuned);
    EXPECT_EQ(source(128, db::Grade::exact), collectives::ChoiceSource::standard);
    EXPECT_EQ(source(512, db::Grade::exact), collectives::ChoiceSource::tuned);
}

TEST_F(Lookup, TheCommandThatTunesNamesADatabaseWithASpaceAsAShellTakesIt) {
    const LookupAnswer answer = look_up(query(Collective::all_reduce, 64), machine(), {{{"explicit", "/my data/a.db", true}}, rules(db::Mode::use), {}});
    EXPECT_TRUE(answer.tune_command.ends_with(" --db '/my data/a.db'")) << answer.tune_command;
}

TEST_F(Lookup, ACollectiveThatCannotBeTunedSaysWhyInsteadOfACommand) {
    publish({row(Collective::all_reduce, 64, 64, "ring")});
    const LookupAnswer answer = ask(query(Collective::all_gather_v, 65536), db::Mode::require);
    EXPECT_EQ(answer.exit_code(), 3);
    EXPECT_EQ(answer.tune_command, "");
    for (const std::string& text : {answer.message(), explain_text(answer)}) {
        EXPECT_NE(text.find("could be slower for others"), std::string::npos) << text;
        EXPECT_EQ(text.find("attune-tune"), std::string::npos) << text;
    }
    EXPECT_TRUE(lookup_json(answer, machine().topology)["tune_command"].is_null());
}

TEST_F(Lookup, AnotherMachineIsExplainedFieldByField) {
    publish({row(Collective::all_reduce, 64, 64, "ring")});
    const LookupAnswer answer = ask(query(Collective::all_reduce, 64), db::Mode::use, machine(1));
    EXPECT_EQ(answer.choice.source, collectives::ChoiceSource::standard);
    const std::string text = explain_text(answer);
    EXPECT_NE(text.find("other machine"), std::string::npos);
    const std::size_t line = text.find("\ncpu_model ");
    ASSERT_NE(line, std::string::npos) << text;
    const std::string field = text.substr(line + 1, text.find('\n', line + 1) - line - 1);
    EXPECT_NE(field.find("97"), std::string::npos) << field;
    EXPECT_NE(field.find("differs"), std::string::npos) << field;
    EXPECT_EQ(std::string(text).find("differs", text.find("differs") + 1), std::string::npos) << "only one field differs";
}

TEST_F(Lookup, RequireTellsMissingFromDamaged) {
    EXPECT_EQ(ask(query(Collective::all_reduce, 64), db::Mode::require).exit_code(), 3);
    publish({row(Collective::all_reduce, 64, 64, "ring")});
    EXPECT_EQ(ask(query(Collective::all_reduce, 64), db::Mode::require).exit_code(), 0);
    const LookupAnswer other_size = ask(query(Collective::all_reduce, 128), db::Mode::require);
    EXPECT_EQ(other_size.exit_code(), 3);
    EXPECT_NE(other_size.message().find("attune-tune all_reduce -n 4 -b 128 -e 128"), std::string::npos) << other_size.message();
    std::filesystem::resize_file(path_, 5000);
    const LookupAnswer damaged = ask(query(Collective::all_reduce, 64), db::Mode::require);
    EXPECT_EQ(damaged.exit_code(), 4);
    EXPECT_NE(damaged.message().find(path_), std::string::npos);
    EXPECT_EQ(ask(query(Collective::all_reduce, 64)).exit_code(), 0);
}

TEST_F(Lookup, ModeOffSaysSo) {
    publish({row(Collective::all_reduce, 64, 64, "ring")});
    const LookupAnswer answer = ask(query(Collective::all_reduce, 64), db::Mode::off);
    EXPECT_EQ(answer.choice.source, collectives::ChoiceSource::standard);
    EXPECT_NE(lookup_text(answer).find("ATTUNE_DB_MODE=off"), std::string::npos);
}

TEST_F(Lookup, AForcedConfigIsNamedAsForced) {
    const LookupAnswer answer = look_up(query(Collective::all_reduce, 64), machine(), {{}, rules(db::Mode::use), "all_reduce=ring"});
    EXPECT_EQ(answer.choice.source, collectives::ChoiceSource::forced);
    EXPECT_EQ(answer.match, "none");
    EXPECT_THROW(look_up(query(Collective::all_reduce, 64), machine(), {{}, rules(db::Mode::use), "all_reduce=rign"}), core::Error);
}

TEST_F(Lookup, BindingFollowsTheAllowedCpus) {
    EXPECT_EQ(ask(query(Collective::all_reduce, 64, 4)).query.binding, "bound");
    EXPECT_EQ(ask(query(Collective::all_reduce, 64, 5)).query.binding, "unbound");
    LookupQuery asked = query(Collective::all_reduce, 64, 4);
    asked.binding = "unbound";
    const LookupAnswer answer = ask(asked);
    EXPECT_TRUE(answer.key.ends_with("/unbound"));
    EXPECT_EQ(answer.tune_command, "");
    EXPECT_EQ(answer.tune_advice(), "attune-tune measures 4 ranks bound on this machine, so there is no row for unbound ones");
    EXPECT_NE(explain_text(answer).find("no row for unbound ones"), std::string::npos);
}

TEST_F(Lookup, SizesAreTheLargerBufferRoundedDown) {
    EXPECT_EQ(query(Collective::all_reduce, 10).problem.bytes(), 8U);
    EXPECT_EQ(query(Collective::all_gather, 100, 3).problem.bytes(), 96U);
    EXPECT_EQ(query(Collective::reduce_scatter, 15, 4).problem.bytes(), 0U);
    EXPECT_EQ(query(Collective::barrier, 100).problem.bytes(), 0U);
    EXPECT_NE(lookup_text(ask(query(Collective::all_gather, 100, 3))).find("96 B (100 bytes rounded down"), std::string::npos);
}

TEST_F(Lookup, AnInPlaceTuneCommandTunesInPlace) {
    LookupQuery asked = query(Collective::all_reduce, 65536);
    asked.problem.in_place = true;
    asked.transport = "local";
    EXPECT_EQ(ask(asked).tune_command, "attune-tune all_reduce -n 4 -b 64K -e 64K -d float32 -o sum --transport local --in-place yes --db " + path_);
}

}  // namespace attune::tools
