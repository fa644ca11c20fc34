// Choosing: forced before tuned before default, each reason for skipping a row tripped once.
#include "collectives/chooser.hpp"

#include "collectives/applicability.hpp"
#include "collectives/catalogue.hpp"
#include "collectives/default_config.hpp"
#include "libcore/error.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace attune::collectives {
namespace {

Problem problem_of(Collective collective, std::uint64_t count, int ranks = 4) {
    Problem problem;
    problem.collective = collective;
    problem.ranks = ranks;
    problem.count = count;
    return problem;
}

ChooserFacts facts() {
    ChooserFacts facts;
    facts.node_map = "1x4";
    facts.topology.allowed.cpus = {0, 1, 2, 3};
    facts.topology.instruction_set = "avx2";
    return facts;
}

// A row for all_reduce of 64 .. 512 B that uses ring.
core::TableRow usable_row(Collective collective = Collective::all_reduce) {
    const Problem problem = problem_of(collective, 64);
    core::TableRow row;
    row.key = key_of(problem, facts());
    row.low_bytes = 64;
    row.high_bytes = 512;
    row.default_config = default_config(problem, facts().topology);
    row.config = row.default_config;
    row.config.set("algorithm", std::string_view(collective == Collective::broadcast ? "binomial" : "ring"));
    row.default_version = default_version;
    row.algorithm_version = find_algorithm(collective, row.config.algorithm())->version;
    row.instruction_set = "generic";
    row.gain = 1.5;
    return row;
}

Choice choose(const core::TableRow& row, const Problem& problem) {
    return Chooser(facts(), core::ConfigTable::build({row}), {}).choose(problem);
}

void expect_skipped(const core::TableRow& row, const std::string& reason) {
    const Problem problem = problem_of(Collective::all_reduce, 32);
    const Choice choice = choose(row, problem);
    EXPECT_EQ(choice.source, ChoiceSource::standard);
    EXPECT_EQ(choice.match, Match::none);
    EXPECT_EQ(choice.config, default_config(problem, facts().topology));
    EXPECT_NE(choice.reason.find("row 0 skipped: "), std::string::npos) << choice.reason;
    EXPECT_NE(choice.reason.find(reason), std::string::npos) << choice.reason;
}

TEST(ChooserTest, WithoutATableTheDefaultRuns) {
    const Problem problem = problem_of(Collective::all_reduce, 1000);
    const Choice choice = Chooser(facts(), {}, {}).choose(problem);
    EXPECT_EQ(choice.config, default_config(problem, facts().topology));
    EXPECT_EQ(choice.source, ChoiceSource::standard);
    EXPECT_EQ(choice.gain, 1);
    EXPECT_EQ(choice.reason, "no tuned table");
}

TEST(ChooserTest, ARowThatCoversTheSizeIsUsed) {
    const Choice inside = choose(usable_row(), problem_of(Collective::all_reduce, 32));
    EXPECT_EQ(inside.source, ChoiceSource::tuned);
    EXPECT_EQ(inside.match, Match::interval);
    EXPECT_EQ(inside.config.algorithm(), "ring");
    EXPECT_EQ(inside.row, 0U);
    EXPECT_EQ(inside.gain, 1.5);
    EXPECT_EQ(inside.reason, "row 0 covers 64 B .. 512 B");
    EXPECT_EQ(choose(usable_row(), problem_of(Collective::all_reduce, 16)).match, Match::exact);
    EXPECT_EQ(choose(usable_row(), problem_of(Collective::all_reduce, 128)).match, Match::exact);
}

TEST(ChooserTest, AxesAbsentFromARowComeFromTheDefault) {
    core::TableRow row = usable_row();
    row.config = core::Config::parse("algorithm=ring");
    const Choice choice = choose(row, problem_of(Collective::all_reduce, 32));
    EXPECT_EQ(choice.config, row.default_config.with(row.config));
    EXPECT_GE(choice.config.entries().size(), 6U);
}

TEST(ChooserTest, ASizeOutsideSaysWhatIsCovered) {
    const Choice choice = choose(usable_row(), problem_of(Collective::all_reduce, 1024));
    EXPECT_EQ(choice.source, ChoiceSource::standard);
    EXPECT_EQ(choice.reason, "no row covers 4 KiB (rows of this key: 64 B .. 512 B)");
}

TEST(ChooserTest, EveryFieldOfTheProblemThatBelongsToTheKeyCounts) {
    const core::TableRow row = usable_row();
    Problem other = problem_of(Collective::all_reduce, 32);
    other.dtype = core::DType::int32;
    EXPECT_EQ(choose(row, other).reason, "no row for this key");
    other = problem_of(Collective::all_reduce, 32);
    other.op = core::Op::max;
    EXPECT_EQ(choose(row, other).reason, "no row for this key");
    other = problem_of(Collective::all_reduce, 32, 3);
    EXPECT_EQ(choose(row, other).reason, "no row for this key");
    other = problem_of(Collective::all_reduce, 32);
    other.in_place = true;
    EXPECT_EQ(choose(row, other).reason, "no row for this key");
}

TEST(ChooserTest, DataMovementIgnoresTypeAndOperator) {
    Problem problem = problem_of(Collective::all_gather, 16);
    problem.dtype = core::DType::int64;
    problem.op = core::Op::max;
    const core::Key key = key_of(problem, facts());
    EXPECT_EQ(key.text(), "collective/all_gather/bytes/none/4/1x4/none/shm/out/ordinary/run/latency/bound");
    problem.collective = Collective::broadcast;
    EXPECT_EQ(key_of(problem, facts()).root_class, "any");
}

TEST(ChooserTest, AnotherDefaultVersionIsSkipped) {
    core::TableRow row = usable_row();
    row.default_version = default_version + 1;
    expect_skipped(row, "proven against default version");
}

TEST(ChooserTest, AnotherDefaultConfigIsSkipped) {
    core::TableRow row = usable_row();
    row.default_config.set("algorithm", std::string_view("recursive_doubling"));
    expect_skipped(row, "proven against the default algorithm=recursive_doubling");
}

TEST(ChooserTest, AnUnknownAlgorithmIsSkipped) {
    core::TableRow row = usable_row();
    row.config.set("algorithm", std::string_view("foo"));
    expect_skipped(row, "unknown algorithm 'foo'");
}

TEST(ChooserTest, AnotherAlgorithmVersionIsSkipped) {
    core::TableRow row = usable_row();
    ++row.algorithm_version;
    expect_skipped(row, "proven with ring version");
}

TEST(ChooserTest, AForeignInstructionSetIsSkipped) {
    core::TableRow row = usable_row();
    row.instruction_set = "avx512";
    expect_skipped(row, "needs avx512, but a rank has only avx2");
    row.instruction_set = "sve";
    expect_skipped(row, "unknown instruction set 'sve'");
}

TEST(ChooserTest, AConstraintThatIsNotMetIsSkipped) {
    core::TableRow row = usable_row();
    row.config.set("channels", std::uint64_t{99});
    expect_skipped(row, "channels");
}

TEST(ChooserTest, TheRowOfTheRootIsUsedWhenThereIsNoneForAnyRoot) {
    core::TableRow row = usable_row(Collective::broadcast);
    row.key.root_class = "2";
    Problem problem = problem_of(Collective::broadcast, 32);
    problem.root = 2;
    EXPECT_EQ(choose(row, problem).config.algorithm(), "binomial");
    problem.root = 1;
    EXPECT_EQ(choose(row, problem).source, ChoiceSource::standard);
    row.key.root_class = "any";
    EXPECT_EQ(choose(row, problem).source, ChoiceSource::tuned);
}

TEST(ChooserTest, ASkippedRowForAnyRootLeavesTheRootsOwn) {
    core::TableRow any = usable_row(Collective::broadcast), own = any;
    any.config.set("algorithm", std::string_view("foo"));
    own.key.root_class = "2";
    Problem problem = problem_of(Collective::broadcast, 32);
    problem.root = 2;
    const Choice choice = Chooser(facts(), core::ConfigTable::build({any, own}), {}).choose(problem);
    EXPECT_EQ(choice.source, ChoiceSource::tuned);
    EXPECT_NE(choice.reason.find("unknown algorithm 'foo'; row 0 covers"), std::string::npos) << choice.reason;
}

TEST(ChooserTest, ForcedValuesBeatTheTableAndKeepTheRestOfTheDefault) {
    const Chooser chooser(facts(), core::ConfigTable::build({usable_row()}), ForcedChoices::parse("all_reduce=recursive_doubling"));
    const Problem problem = problem_of(Collective::all_reduce, 32);
    const Choice choice = chooser.choose(problem);
    EXPECT_EQ(choice.source, ChoiceSource::forced);
    EXPECT_EQ(choice.config, default_config(problem, facts().topology).with(core::Config::parse("algorithm=recursive_doubling")));
    EXPECT_EQ(chooser.choose(problem_of(Collective::barrier, 0)).source, ChoiceSource::standard);
}

TEST(ChooserTest, ImpossibleForcedValuesAreUsageErrors) {
    const Chooser chooser(facts(), {}, ForcedChoices::parse("all_reduce=protocol=inline"));
    EXPECT_EQ(chooser.choose(problem_of(Collective::all_reduce, 2)).source, ChoiceSource::forced);
    try {
        chooser.choose(problem_of(Collective::all_reduce, 1 << 20));
        FAIL() << "a long message went inline";
    } catch (const core::Error& error) {
        EXPECT_EQ(error.code(), core::ErrorCode::usage);
        EXPECT_NE(std::string(error.what()).find("the forced choice all_reduce=protocol=inline is impossible"), std::string::npos) << error.what();
    }
}

TEST(ApplicabilityTest, JudgesARowByItsOwnKeyAsTheChooserDoes) {
    const core::Topology topology = facts().topology;
    EXPECT_EQ(why_never_usable(usable_row(), topology), std::nullopt);
    EXPECT_EQ(why_never_usable(usable_row(Collective::broadcast), topology), std::nullopt);
    const auto refused = [&](const std::function<void(core::TableRow&)>& change, const std::string& reason) {
        core::TableRow row = usable_row();
        change(row);
        const std::optional<std::string> found = why_never_usable(row, topology);
        ASSERT_TRUE(found) << reason;
        EXPECT_NE(found->find(reason), std::string::npos) << *found;
    };
    refused([](core::TableRow& row) { row.default_version += 1; }, "default version");
    refused([](core::TableRow& row) { row.default_config.set("algorithm", std::string_view("ring")); }, "proven against the default");
    refused([](core::TableRow& row) { row.config.set("algorithm", std::string_view("quantum")); }, "unknown algorithm 'quantum'");
    refused([](core::TableRow& row) { row.algorithm_version += 1; }, "version");
    refused([](core::TableRow& row) { row.instruction_set = "avx512"; }, "needs avx512");
    refused([](core::TableRow& row) { row.key.collective = "all_reduze"; }, "all_reduze");
    refused([](core::TableRow& row) { row.key.determinism = "bitwise"; }, "no call has the key");
    refused([](core::TableRow& row) { row.key.ranks = 0; }, "no call has the key");
}

TEST(ApplicabilityTest, ARowUsableAtOneEndIsUsable) {
    core::TableRow row = usable_row();
    row.high_bytes = 1 << 30;  // another default holds there
    ASSERT_NE(default_config(problem_of(Collective::all_reduce, row.high_bytes / 4), facts().topology), row.default_config);
    EXPECT_EQ(why_never_usable(row, facts().topology), std::nullopt);
}

TEST(ForcedChoicesTest, ReadsAlgorithmsAliasesAndAxes) {
    const ForcedChoices forced = ForcedChoices::parse("all_reduce=ring,segment_bytes=64K;broadcast=star;;barrier=algorithm=one_shot");
    ASSERT_EQ(forced.entries.size(), 3U);
    EXPECT_EQ(forced.entries[0].second.text(), "algorithm=ring,segment_bytes=64K");
    EXPECT_EQ(forced.entries[1].second.algorithm(), parse_algorithm(Collective::broadcast, "star"));
    EXPECT_EQ(forced.entries[2].second.algorithm(), "one_shot");
    EXPECT_TRUE(ForcedChoices::parse("").entries.empty());
}

TEST(ForcedChoicesTest, RefusesWhatItCannotRead) {
    for (const char* text : {"all_reduce", "all_reduce=", "all_reduc=ring", "all_reduce=rinq", "all_reduce=ring,two_shot", "all_reduce=ring,segmentbytes=4",
                             "all_reduce=ring;all_reduce=two_shot", "all_reduce=segment_bytes=x", "=ring"})
        EXPECT_THROW(ForcedChoices::parse(text), core::Error) << text;
}

TEST(ChooserTest, AConfigWithMoreChannelsThanTheCommunicatorIsSkippedAndForcedRefused) {
    ChooserFacts narrow = facts();
    narrow.channels = 2;
    core::TableRow row = usable_row();
    row.config.set("channels", std::uint64_t{4});
    const Problem problem = problem_of(Collective::all_reduce, 32);
    const Choice skipped = Chooser(narrow, core::ConfigTable::build({row}), {}).choose(problem);
    EXPECT_EQ(skipped.source, ChoiceSource::standard);
    EXPECT_NE(skipped.reason.find("needs channels=4, but this communicator was made with 2"), std::string::npos) << skipped.reason;
    EXPECT_EQ(choose(row, problem).source, ChoiceSource::tuned);
    EXPECT_THROW(Chooser(narrow, {}, ForcedChoices::parse("all_reduce=ring,channels=3")), core::Error);
}

TEST(ChooserTest, AConfigForSocketsIsSkippedWhereThereAreNoneOrTheKernelLacksIt) {
    const Problem problem = problem_of(Collective::all_reduce, 32);
    core::TableRow row = usable_row();
    row.config.set("congestion_control", "reno");
    const auto reason_with = [&](const StreamFacts& streams) {
        ChooserFacts here = facts();
        here.streams = streams;
        return Chooser(here, core::ConfigTable::build({row}), {}).choose(problem).reason;
    };
    EXPECT_EQ(choose(row, problem).source, ChoiceSource::tuned);  // nothing is known of sockets
    EXPECT_NE(reason_with({}).find("needs congestion_control=reno, but this transport has no sockets"), std::string::npos) << reason_with({});
    EXPECT_NE(reason_with({true, {"bbr", "cubic"}}).find("the kernels of the ranks offer bbr, cubic"), std::string::npos);
    EXPECT_EQ(lacks_streams(row.config, {true, {"cubic", "reno"}}), std::nullopt);
    row.config = core::Config::parse("algorithm=ring,socket_buffer_bytes=1M");
    EXPECT_NE(lacks_streams(row.config, {}), std::nullopt);
    EXPECT_EQ(lacks_streams(row.config, {true, {}}), std::nullopt);
    ChooserFacts without = facts();
    without.streams = StreamFacts{};
    EXPECT_THROW(Chooser(without, {}, ForcedChoices::parse("all_reduce=ring,socket_buffer_bytes=1M")), core::Error);
}

}  // namespace
}  // namespace attune::collectives
