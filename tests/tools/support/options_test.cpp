// Lists, sizes and the common options.
#include "apps/tools/support/options.hpp"

#include "libcore/error.hpp"

#include <gtest/gtest.h>

namespace {

using namespace attune;
using tools::RankList;
using tools::RootChoice;
using tools::SizeRange;

TEST(RankListTest, ReadsNumbersAndRanges) {
    EXPECT_EQ(RankList::parse("1-4,33").values, (std::vector<int>{1, 2, 3, 4, 33}));
    EXPECT_EQ(RankList::parse("5,3,4-5").values, (std::vector<int>{3, 4, 5}));
    EXPECT_EQ(RankList::parse("7-7").values, (std::vector<int>{7}));
}

TEST(RankListTest, RefusesAnythingElse) {
    for (const char* text : {"", "0", "-3", "3-", "4-2", "1,,2", "a", "1-2-3", "65537", "99999999999", " 1"}) {
        EXPECT_THROW(RankList::parse(text), core::Error) << text;
    }
}

TEST(RootChoiceTest, IsOneRankOrAll) {
    EXPECT_EQ(RootChoice::parse("all").roots(3), (std::vector<int>{0, 1, 2}));
    EXPECT_EQ(RootChoice::parse("2").roots(3), (std::vector<int>{2}));
    EXPECT_TRUE(RootChoice::parse("2").roots(2).empty());
    EXPECT_THROW(RootChoice::parse("-1"), core::Error);
    EXPECT_THROW(RootChoice::parse("al"), core::Error);
}

TEST(SizeRangeTest, GrowsByTheFactorUpToTheLargest) {
    EXPECT_EQ((SizeRange{.min_bytes = 8, .max_bytes = 512, .factor = 8}).sizes(), (std::vector<std::uint64_t>{8, 64, 512}));
    EXPECT_EQ((SizeRange{.min_bytes = 8, .max_bytes = 511, .factor = 8}).sizes(), (std::vector<std::uint64_t>{8, 64}));
}

TEST(SizeRangeTest, GrowsByTheIncrementWhenThereIsOne) {
    EXPECT_EQ((SizeRange{.min_bytes = 0, .max_bytes = 20, .increment_bytes = 8}).sizes(), (std::vector<std::uint64_t>{0, 8, 16}));
    EXPECT_EQ((SizeRange{.min_bytes = 0, .max_bytes = 64, .factor = 4}).sizes(), (std::vector<std::uint64_t>{0, 8, 32}));
    EXPECT_EQ((SizeRange{.min_bytes = 0, .max_bytes = 4, .factor = 2}).sizes(), (std::vector<std::uint64_t>{0, 4}));
    EXPECT_EQ((SizeRange{.min_bytes = 0, .max_bytes = 0, .factor = 2}).sizes(), (std::vector<std::uint64_t>{0}));
}

TEST(SizeRangeTest, QuickstartsLadderHasEightSizes) {
    EXPECT_EQ(SizeRange{}.sizes().size(), 8u);
    EXPECT_EQ(SizeRange{}.sizes().back(), 16u << 20);
}

TEST(SizeRangeTest, DoesNotOverflowAtTheEnd) {
    const std::uint64_t top = ~std::uint64_t{0};
    EXPECT_EQ((SizeRange{.min_bytes = top - 1, .max_bytes = top, .factor = 2}).sizes().size(), 1u);
    EXPECT_EQ((SizeRange{.min_bytes = top - 1, .max_bytes = top, .increment_bytes = 5}).sizes().size(), 1u);
}

TEST(SizeRangeTest, RefusesWhatCannotEnd) {
    EXPECT_THROW((SizeRange{.min_bytes = 9, .max_bytes = 8}).sizes(), core::Error);
    EXPECT_THROW((SizeRange{.min_bytes = 8, .max_bytes = 64, .factor = 1}).sizes(), core::Error);
    EXPECT_THROW((SizeRange{.min_bytes = 1, .max_bytes = 1 << 20, .increment_bytes = 1}).sizes(), core::Error);
}

TEST(CommonOptions, ReadTheirValues) {
    CLI::App app;
    int ranks = 1;
    SizeRange range;
    std::string transport = "shm";
    std::optional<std::string> db;
    std::int64_t timeout = 0;
    tools::add_ranks_option(app, ranks);
    tools::add_size_options(app, range);
    tools::add_transport_option(app, transport);
    tools::add_db_option(app, db);
    tools::add_timeout_option(app, timeout);
    app.parse("-n 5 -b 1K -e 2M -f 2 --transport local --db x.db --timeout 5s");
    EXPECT_EQ(ranks, 5);
    EXPECT_EQ(range.min_bytes, 1024u);
    EXPECT_EQ(range.max_bytes, 2u << 20);
    EXPECT_EQ(range.factor, 2u);
    EXPECT_EQ(transport, "local");
    EXPECT_EQ(db, "x.db");
    EXPECT_EQ(timeout, 5'000'000'000);
}

tools::NodeOptions nodes_of(const std::string& line) {
    CLI::App app;
    tools::NodeOptions nodes;
    tools::add_node_options(app, nodes);
    app.parse(line);
    return nodes;
}

TEST(NodeOptions, BecomeOneTextAndTheTransportThatJoinsTheNodes) {
    EXPECT_FALSE(nodes_of("").given());
    EXPECT_EQ(nodes_of("").text(3), "1x3");
    EXPECT_EQ(nodes_of("").transport(3), "shm");
    EXPECT_EQ(nodes_of("--ranks-per-node 2").text(5), "2,2,1");
    EXPECT_EQ(nodes_of("--ranks-per-node 2").transport(5), "mixed");
    EXPECT_EQ(nodes_of("--ranks-per-node 8").transport(5), "shm");
    EXPECT_EQ(nodes_of("--node-map 2,2:cyclic").text(4), "2x2:cyclic");
    EXPECT_EQ(nodes_of("--node-map irregular:3,1,1,3").text(4), "irregular:0,1,1,0");
}

TEST(NodeOptions, RefuseWhatCannotBe) {
    EXPECT_THROW(nodes_of("--node-map 2x2").text(3), core::Error);
    EXPECT_THROW(nodes_of("--node-map 2x"), core::Error);
    EXPECT_THROW(nodes_of("--ranks-per-node 0"), core::Error);
    EXPECT_THROW(nodes_of("--ranks-per-node 2 --node-map 2x2"), CLI::ParseError);
}

TEST(CommonOptions, RefuseWrongValuesAsUsage) {
    for (const char* line : {"-n 0", "-n 99999", "-n two", "-b 8KB", "--transport smh", "--color sometimes", "--seed -1", "--timeout fast"}) {
        CLI::App app;
        int ranks = 1;
        SizeRange range;
        std::string transport;
        tools::ColorMode color{};
        std::uint64_t seed = 0;
        std::int64_t timeout = 0;
        tools::add_ranks_option(app, ranks);
        tools::add_size_options(app, range);
        tools::add_transport_option(app, transport);
        tools::add_color_option(app, color);
        tools::add_seed_option(app, seed);
        tools::add_timeout_option(app, timeout);
        try {
            app.parse(line);
            ADD_FAILURE() << line << " was accepted";
        } catch (const core::Error& error) {
            EXPECT_EQ(error.exit_code(), 2) << line;
        } catch (const CLI::ParseError&) {
            // "-1" looks like an option to CLI11; run_tool() turns its errors into exit code 2 as well.
            EXPECT_STREQ(line, "--seed -1");
        }
    }
}

}  // namespace
