// Another table for a living communicator, back to the defaults, and choices that the ranks proved themselves.
#include "collectives/catalogue.hpp"
#include "collectives/communicator.hpp"
#include "collectives/default_config.hpp"
#include "libcore/error.hpp"
#include "tests/support/communicator_cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace attune::collectives {
namespace {

Problem all_reduce_of(std::uint64_t count) {
    Problem problem;
    problem.count = count;
    return problem;
}

void on_team(int ranks, const std::function<void(Communicator&)>& body) {
    auto team = Communicator::make_local(ranks, CommunicatorOptions());
    const auto thrown = test::on_threads(ranks, [&](int rank) { body(*team[static_cast<std::size_t>(rank)]); });
    EXPECT_EQ(thrown, std::vector<std::string>(static_cast<std::size_t>(ranks)));
}

// One row: ring for all_reduce of 16 floats.
core::ConfigTable table_of_ring(const Communicator& team) {
    const Problem problem = team.complete(all_reduce_of(16));
    const ChooserFacts& facts = team.chooser().facts();
    core::TableRow row;
    row.key = key_of(problem, facts);
    row.low_bytes = row.high_bytes = problem.bytes();
    row.default_config = default_config(problem, facts.topology);
    row.config = row.default_config;
    row.config.set("algorithm", std::string_view("ring"));
    row.default_version = default_version;
    row.algorithm_version = find_algorithm(Collective::all_reduce, "ring")->version;
    row.instruction_set = "generic";
    return core::ConfigTable::build({row});
}

void expect_sum(Communicator& team, std::uint64_t count) {
    const std::vector<float> input(count, 1);
    std::vector<float> output(count);
    team.run(all_reduce_of(count), input.data(), output.data());
    EXPECT_EQ(std::ranges::count(output, static_cast<float>(team.size())), static_cast<std::ptrdiff_t>(count));
}

TEST(TableChangeTest, ALoadedTableAppliesFromTheNextCallOnAndIsForgotten) {
    on_team(3, [](Communicator& team) {
        expect_sum(team, 16);
        const core::Config standard = team.choice(all_reduce_of(16)).config;
        team.load_table([&] { return TableResult{table_of_ring(team), "/some/file", {}, 0, ""}; });
        EXPECT_EQ(team.choice(all_reduce_of(16)).config.algorithm(), "ring");
        EXPECT_EQ(team.table_origin(), "/some/file");
        expect_sum(team, 16);
        expect_sum(team, 17);
        EXPECT_EQ(team.statistics().exact, 1U);
        EXPECT_EQ(team.statistics().none, 2U);
        team.forget_table();
        EXPECT_EQ(team.choice(all_reduce_of(16)).config, standard);
        EXPECT_EQ(team.table_origin(), "");
        expect_sum(team, 16);
        EXPECT_EQ(team.statistics().exact, 1U);
        EXPECT_EQ(team.statistics().none, 3U);
    });
}

TEST(TableChangeTest, AFatalResultLeavesTheOldTable) {
    on_team(2, [](Communicator& team) {
        team.load_table([&] { return TableResult{table_of_ring(team), "/some/file", {}, 0, ""}; });
        int code = 0;
        try {
            team.load_table([] { return TableResult{{}, "", {}, 3, "no applicable row"}; });
        } catch (const core::Error& error) {
            code = error.exit_code();
        }
        EXPECT_EQ(code, 3);
        EXPECT_EQ(team.table_origin(), "/some/file");
        EXPECT_EQ(team.choice(all_reduce_of(16)).config.algorithm(), "ring");
        expect_sum(team, 16);
    });
}

TEST(TableChangeTest, AProvenChoiceIsForExactlyItsProblem) {
    on_team(2, [](Communicator& team) {
        Problem broadcast;
        broadcast.collective = Collective::broadcast;
        broadcast.count = 100;
        broadcast.root = 1;
        core::Config ring = team.choice(all_reduce_of(16)).config;
        ring.set("algorithm", std::string_view("ring"));
        core::Config chain = team.choice(broadcast).config;
        chain.set("algorithm", std::string_view("chain"));
        team.apply(all_reduce_of(16), ring, 1.5);
        team.apply(broadcast, chain, 1.25);
        const Choice choice = team.choice(all_reduce_of(16));
        EXPECT_EQ(choice.config, ring);
        EXPECT_EQ(choice.source, ChoiceSource::tuned);
        EXPECT_EQ(choice.match, Match::exact);
        EXPECT_EQ(choice.gain, 1.5);
        EXPECT_EQ(team.choice(all_reduce_of(17)).source, ChoiceSource::standard);
        EXPECT_EQ(team.choice(broadcast).config, chain);
        broadcast.root = 0;
        EXPECT_EQ(team.choice(broadcast).source, ChoiceSource::standard);
        expect_sum(team, 16);
        EXPECT_EQ(team.statistics().exact, 1U);
        EXPECT_EQ(team.dup()->choice(all_reduce_of(16)).config, ring);
        team.forget_table();
        EXPECT_EQ(team.choice(all_reduce_of(16)).source, ChoiceSource::standard);
    });
}

}  // namespace
}  // namespace attune::collectives
