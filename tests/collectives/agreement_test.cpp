// How ranks agree on facts and on the table, and what they say when they do not. Threads with the bootstrap of threads and the transport of processes.
#include "collectives/communicator.hpp"

#include "collectives/catalogue.hpp"
#include "collectives/default_config.hpp"
#include "collectives/table_agreement.hpp"
#include "collectives/team_facts.hpp"
#include "libcore/error.hpp"
#include "tests/support/communicator_cases.hpp"
#include "tests/support/process_team.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>

namespace attune::collectives {
namespace {

bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

struct Warnings {
    std::mutex mutex;
    std::vector<std::string> lines;
    core::Log log() {
        return core::Log(core::LogLevel::warn, "test", [this](std::string_view line) {
            const std::lock_guard lock(mutex);
            lines.emplace_back(line);
        });
    }
};

using Prepare = std::function<void(int rank, CommunicatorOptions&)>;
using Body = std::function<void(Communicator&)>;

std::vector<std::string> with_team(int ranks, Warnings& warnings, const Prepare& prepare, const Body& body) {
    auto bootstraps = make_local_bootstraps(ranks);
    return test::on_threads(ranks, [&](int rank) {
        CommunicatorOptions options;
        options.log = warnings.log();
        prepare(rank, options);
        // A rank that gives up takes its bootstrap along, as a process would.
        const std::unique_ptr<Bootstrap> bootstrap = std::move(bootstraps[static_cast<std::size_t>(rank)]);
        Communicator communicator(*bootstrap, std::move(options));
        body(communicator);
    });
}

// Rows of all_reduce that use ring, one per power of two from 8 bytes.
core::ConfigTable table_with(const Chooser& chooser, int ranks, int rows, const std::string& instruction_set = "generic") {
    std::vector<core::TableRow> result;
    for (int i = 0; i < rows; ++i) {
        Problem problem;
        problem.ranks = ranks;
        problem.count = (std::uint64_t{2} << i);
        core::TableRow row;
        row.key = key_of(problem, chooser.facts());
        row.low_bytes = problem.bytes();
        row.high_bytes = problem.bytes() * 2 - 1;
        row.default_config = default_config(problem, chooser.facts().topology);
        row.config = row.default_config;
        row.config.set("algorithm", std::string_view("ring"));
        row.default_version = default_version;
        row.algorithm_version = find_algorithm(Collective::all_reduce, "ring")->version;
        row.instruction_set = instruction_set;
        result.push_back(row);
    }
    return core::ConfigTable::build(std::move(result));
}

// The facts that a team of so many ranks will agree on here.
Chooser chooser_of(int ranks) {
    Warnings warnings;
    ChooserFacts facts;
    with_team(
        ranks, warnings, [](int, CommunicatorOptions&) {},
        [&](Communicator& team) {
            if (team.rank() == 0) facts = team.chooser().facts();
        });
    return Chooser(facts, {}, {});
}

Problem all_reduce_of(std::uint64_t count) {
    Problem problem;
    problem.count = count;
    return problem;
}

TEST(AgreementTest, EveryRankChoosesFromTheTableOfRankZero) {
    const Chooser chooser = chooser_of(3);
    Warnings warnings;
    std::atomic<int> reads = 0;
    const auto thrown = with_team(
        3, warnings,
        [&](int, CommunicatorOptions& options) {
            options.table_source = [&] {
                ++reads;
                return TableResult{table_with(chooser, 3, 10), "/some/file", {"one layer is missing"}, 0, ""};
            };
        },
        [](Communicator& team) {
            const Choice choice = team.choice(all_reduce_of(16));
            EXPECT_EQ(choice.source, ChoiceSource::tuned) << choice.reason;
            EXPECT_EQ(choice.config.algorithm(), "ring");
            EXPECT_EQ(team.table_origin(), "/some/file");
            std::vector<float> input(16, 1), output(16);
            team.run(all_reduce_of(16), input.data(), output.data());
            EXPECT_EQ(output, std::vector<float>(16, 3));
            EXPECT_EQ(team.statistics().exact, 1U);
        });
    EXPECT_EQ(thrown, std::vector<std::string>(3));
    EXPECT_EQ(reads, 1);
    ASSERT_EQ(warnings.lines.size(), 1U);
    EXPECT_TRUE(contains(warnings.lines[0], "one layer is missing"));
}

TEST(AgreementTest, ATableLargerThanABootstrapMessageTravels) {
    Warnings warnings;
    std::vector<core::TableRow> rows;
    for (int i = 0; i < 2000; ++i) {
        core::TableRow row;
        row.key = key_of(all_reduce_of(1), {});
        row.key.ranks = i;
        row.key.node_map = "1x" + std::to_string(i);
        row.config = core::Config::parse("algorithm=ring");
        row.default_config = row.config;
        row.instruction_set = "generic";
        rows.push_back(row);
    }
    const core::ConfigTable table = core::ConfigTable::build(rows);
    ASSERT_GT(table.bytes().size(), std::size_t{64} << 10);
    const auto thrown = with_team(
        2, warnings, [&](int, CommunicatorOptions& options) { options.table_source = [&] {
                                                                  return TableResult{table, "", {}, 0, ""};
                                                              }; },
        [&](Communicator& team) { EXPECT_EQ(team.chooser().table().digest(), table.digest()); });
    EXPECT_EQ(thrown, std::vector<std::string>(2));
}

TEST(AgreementTest, ASourceThatThrowsIsAWarningAndEveryoneRunsOnDefaults) {
    Warnings warnings;
    const auto thrown = with_team(
        2, warnings,
        [](int, CommunicatorOptions& options) {
            options.table_source = []() -> TableResult { throw core::Error(core::ErrorCode::failure, "the disk is on fire"); };
        },
        [](Communicator& team) { EXPECT_EQ(team.choice(all_reduce_of(16)).source, ChoiceSource::standard); });
    EXPECT_EQ(thrown, std::vector<std::string>(2));
    ASSERT_EQ(warnings.lines.size(), 1U);
    EXPECT_TRUE(contains(warnings.lines[0], "the disk is on fire; running on defaults")) << warnings.lines[0];
}

TEST(AgreementTest, AFatalResultIsTheSameErrorOnEveryRank) {
    for (const int code : {3, 4}) {
        Warnings warnings;
        std::atomic<int> right = 0;
        auto bootstraps = make_local_bootstraps(3);
        test::on_threads(3, [&](int rank) {
            CommunicatorOptions options;
            options.table_source = [&] { return TableResult{{}, "", {}, code, "no applicable row"}; };
            try {
                Communicator communicator(*bootstraps[static_cast<std::size_t>(rank)], options);
            } catch (const core::Error& error) {
                right += error.exit_code() == code && contains(error.what(), "no applicable row") ? 1 : 0;
            }
        });
        EXPECT_EQ(right, 3);
    }
}

TEST(AgreementTest, OptionsThatMustBeEqualAreNamedWithBothRanks) {
    const std::vector<std::pair<Prepare, std::string>> cases = {
        {[](int rank, CommunicatorOptions& options) { options.check_calls = rank == 1; }, "ATTUNE_CHECK"},
        {[](int rank, CommunicatorOptions& options) {
             if (rank == 1) options.forced = ForcedChoices::parse("all_reduce=ring");
         },
         "ATTUNE_FORCE"},
        {[](int rank, CommunicatorOptions& options) { options.lanes.channels = rank == 1 ? 1 : 2; }, "channels"},
        {[](int rank, CommunicatorOptions& options) { options.transport = rank == 1 ? "local" : "shm"; }, "the transport 'local'"},
    };
    for (const auto& [prepare, word] : cases) {
        Warnings warnings;
        const auto thrown = with_team(2, warnings, prepare, [](Communicator&) { FAIL() << "agreed"; });
        for (const std::string& error : thrown)
            EXPECT_TRUE(contains(error, word) && contains(error, "rank 1 has") && contains(error, "rank 0 has")) << error;
    }
}

TEST(AgreementTest, ThreadsMayUseTheirTransportAndProcessesMayNot) {
    Warnings warnings;
    const auto local = [](int, CommunicatorOptions& options) { options.transport = "local"; };
    const auto threads = with_team(2, warnings, local, [](Communicator& team) { EXPECT_EQ(team.transport().name(), "local"); });
    EXPECT_EQ(threads, std::vector<std::string>(2));
    const auto processes = test::run_processes(2, [&](Bootstrap& bootstrap) -> std::string {
        CommunicatorOptions options;
        local(0, options);
        const Communicator team(bootstrap, options);
        return "made";
    });
    for (const test::RankResult& result : processes)
        EXPECT_TRUE(contains(result.text, "use shm")) << result.text;
    const auto wrong = with_team(
        1, warnings, [](int, CommunicatorOptions& options) { options.transport = "sham"; }, [](Communicator&) {});
    EXPECT_TRUE(contains(wrong[0], "did you mean 'shm'")) << wrong[0];
}

TEST(AgreementTest, OneRankNeedsNoTransport) {
    Warnings warnings;
    for (const char* transport : {"shm", "local"}) {
        const auto thrown = with_team(
            1, warnings, [&](int, CommunicatorOptions& options) { options.transport = transport; },
            [](Communicator& team) {
                const std::vector<std::uint64_t> counts = {0, 1, 1009};
                EXPECT_EQ(test::run_cases(team, counts), "");
            });
        EXPECT_EQ(thrown, std::vector<std::string>(1));
    }
}

TEST(AgreementTest, ForcedChoicesRunOnEveryRank) {
    Warnings warnings;
    const auto thrown = with_team(
        3, warnings, [](int, CommunicatorOptions& options) { options.forced = ForcedChoices::parse("all_reduce=recursive_doubling"); },
        [](Communicator& team) {
            EXPECT_EQ(team.choice(all_reduce_of(16)).config.algorithm(), "recursive_doubling");
            const std::vector<std::uint64_t> counts = {7, 1009};
            EXPECT_EQ(test::run_cases(team, counts), "");
        });
    EXPECT_EQ(thrown, std::vector<std::string>(3));
}

TEST(AgreementTest, ARankThatHoldsAnotherTableIsSeenByAll) {
    const std::vector<std::byte> bytes = serialize(TableResult{});
    const auto with_digest = [&](std::uint64_t other) {
        const Exchange exchange = {[](void*, std::uint64_t) {}, [&](std::uint64_t own) { return std::vector<std::uint64_t>{own, other}; }};
        try {
            agree_on_table(0, {}, exchange);
        } catch (const core::Error& error) {
            EXPECT_EQ(error.code(), core::ErrorCode::check_failed);
            return std::string(error.what());
        }
        return std::string("agreed");
    };
    EXPECT_TRUE(contains(with_digest(0), "ranks 0 and 1 disagree about the tuned table"));
    EXPECT_TRUE(contains(with_digest(12345), "ranks 0 and 1 disagree about the tuned table"));
}

TEST(AgreementTest, TableResultsSurviveTheJourneyAndDamageIsSeen) {
    const Chooser chooser({}, {}, {});
    TableResult result{table_with(chooser, 4, 5), "/a,/b", {"first", "second"}, 3, "message"};
    const std::vector<std::byte> bytes = serialize(result);
    const TableResult back = parse_table_result(bytes);
    EXPECT_EQ(back.table.digest(), result.table.digest());
    EXPECT_EQ(back.origin, result.origin);
    EXPECT_EQ(back.warnings, result.warnings);
    EXPECT_EQ(back.fatal_code, 3);
    EXPECT_EQ(back.fatal_message, "message");
    for (std::size_t length = 0; length < bytes.size(); ++length)
        EXPECT_THROW(parse_table_result(std::span(bytes).first(length)), core::Error) << length;
    std::vector<std::byte> longer = bytes;
    longer.push_back(std::byte{0});
    EXPECT_THROW(parse_table_result(longer), core::Error);
}

RankFacts facts_of(std::vector<int> cpus, const std::string& instruction_set = "avx2") {
    RankFacts facts;
    facts.transport = "shm";
    facts.cpus.cpus = std::move(cpus);
    facts.instruction_set = instruction_set;
    return facts;
}

TEST(TeamFactsTest, RanksWithOneCpuEachAreBound) {
    EXPECT_EQ(combine({facts_of({0}), facts_of({1})}).chooser.binding, "bound");
    EXPECT_EQ(combine({facts_of({0}), facts_of({0})}).chooser.binding, "unbound");
    EXPECT_EQ(combine({facts_of({0}), facts_of({1, 2})}).chooser.binding, "unbound");
}

TEST(TeamFactsTest, MoreRanksThanCpusAreOversubscribed) {
    EXPECT_FALSE(combine({facts_of({0}), facts_of({1})}).oversubscribed);
    EXPECT_TRUE(combine({facts_of({0, 1}), facts_of({0, 1}), facts_of({1})}).oversubscribed);
}

RankFacts facts_on(std::uint64_t machine, std::uint64_t node, std::vector<int> cpus) {
    RankFacts facts = facts_of(std::move(cpus));
    facts.transport = "";
    facts.host = {machine, machine, node, node, machine};
    return facts;
}

TEST(TeamFactsTest, RanksThatShareEverythingShareANode) {
    const TeamFacts team = combine({facts_on(1, 10, {0}), facts_on(1, 11, {1}), facts_on(1, 10, {2}), facts_on(2, 20, {0})});
    EXPECT_EQ(team.nodes.text(), "irregular:0,1,0,2");
    EXPECT_EQ(team.chooser.node_map, "irregular:0,1,0,2");
    EXPECT_EQ(team.chooser.transport, "mixed");
    EXPECT_EQ(combine({facts_on(1, 10, {0}), facts_on(1, 10, {1})}).chooser.transport, "shm");
}

TEST(TeamFactsTest, CpusCountByMachine) {
    const TeamFacts team = combine({facts_on(1, 10, {0}), facts_on(2, 20, {0})});
    EXPECT_EQ(team.chooser.binding, "bound");
    EXPECT_FALSE(team.oversubscribed);
    EXPECT_EQ(team.chooser.topology.allowed.text(), "0");
    EXPECT_TRUE(combine({facts_on(1, 10, {0}), facts_on(1, 11, {0}), facts_on(2, 20, {0, 1})}).oversubscribed);
}

TEST(TeamFactsTest, ClocksAreComparedWhenThereAreSeveralAndOneRankTraces) {
    std::vector<RankFacts> ranks = {facts_on(1, 10, {0}), facts_on(2, 20, {0}), facts_on(1, 11, {1}), facts_on(2, 21, {1}), facts_on(3, 30, {0})};
    EXPECT_TRUE(combine(ranks).clock_of.empty());
    ranks[3].traced = true;
    EXPECT_EQ(combine(ranks).clock_of, (std::vector<Rank>{0, 1, 0, 1, 4}));
    for (RankFacts& rank : ranks)
        rank.host.clock = 7;
    EXPECT_TRUE(combine(ranks).clock_of.empty());
}

TEST(TeamFactsTest, AskedForNodesReplaceTheRealOnes) {
    std::vector<RankFacts> ranks(4, facts_on(1, 10, {0}));
    for (RankFacts& rank : ranks)
        rank.node_map = "2x2:cyclic";
    EXPECT_EQ(combine(ranks).nodes.text(), "2x2:cyclic");
    EXPECT_EQ(combine(ranks).chooser.transport, "mixed");
    ranks.pop_back();
    EXPECT_THROW(combine(ranks), core::Error);
    ranks.push_back(facts_on(1, 10, {0}));
    EXPECT_THROW(combine(ranks), core::Error);  // not asked for by all
}

TEST(TeamFactsTest, TheLaunchersCpusCountForTheDefault) {
    RankFacts first = facts_of({0});
    EXPECT_EQ(combine({first, facts_of({3})}).chooser.topology.allowed.text(), "0,3");
    first.launch_cpus = core::CpuSet::parse("0-7");
    EXPECT_EQ(combine({first, facts_of({3})}).chooser.topology.allowed.text(), "0-7");
}

TEST(TeamFactsTest, TheWeakestInstructionSetDropsRowsForAll) {
    const TeamFacts facts = combine({facts_of({0}, "avx512"), facts_of({1}, "avx2")});
    EXPECT_EQ(facts.chooser.topology.instruction_set, "avx2");
    EXPECT_EQ(combine({facts_of({0}, "avx512"), facts_of({1}, "elbrus")}).chooser.topology.instruction_set, "elbrus");
    const Chooser chooser(facts.chooser, table_with(Chooser(facts.chooser, {}, {}), 2, 3, "avx512"), {});
    Problem problem = all_reduce_of(2);
    problem.ranks = 2;
    EXPECT_TRUE(contains(chooser.choose(problem).reason, "needs avx512, but a rank has only avx2")) << chooser.choose(problem).reason;
}

TEST(TeamFactsTest, IntroductionsSurviveTheJourney) {
    RankFacts facts = facts_of({0, 5});
    facts.forced = "all_reduce=algorithm=ring";
    facts.check_calls = true;
    facts.identity = ~std::uint64_t{0};
    facts.launch_cpus = core::CpuSet::parse("0-7");
    facts.node_map = "2,1:cyclic";
    facts.host = {1, 2, 3, ~std::uint64_t{0}, 5};
    facts.traced = true;
    facts.topology = core::Topology{};
    facts.topology->cpu_vendor = "A vendor\nwith lines";
    facts.topology->l3_bytes = 123456789;
    const RankFacts back = parse_rank_facts(serialize(facts));
    EXPECT_EQ(back.forced, facts.forced);
    EXPECT_TRUE(back.check_calls);
    EXPECT_EQ(back.identity, facts.identity);
    EXPECT_EQ(back.node_map, facts.node_map);
    EXPECT_EQ(back.host.node, facts.host.node);
    EXPECT_EQ(back.host.machine, facts.host.machine);
    EXPECT_EQ(back.host.clock, 5U);
    EXPECT_TRUE(back.traced);
    EXPECT_EQ(back.cpus, facts.cpus);
    EXPECT_EQ(back.launch_cpus, facts.launch_cpus);
    EXPECT_EQ(back.topology->cpu_vendor, "A vendor with lines");
    EXPECT_EQ(back.topology->l3_bytes, 123456789U);
    EXPECT_THROW(parse_rank_facts("transport=shm\n"), core::Error);
    EXPECT_THROW(parse_rank_facts("transport=shm\nchannels=two\ncheck_calls=0\nforced=\ncpus=0\ninstruction_set=a\nidentity=1\n"), core::Error);
}

}  // namespace
}  // namespace attune::collectives
