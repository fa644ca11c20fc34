#include "collectives/node_map.hpp"

#include "libcore/error.hpp"

#include <gtest/gtest.h>

#include <random>

namespace attune::collectives {
namespace {

using Nodes = std::vector<int>;

TEST(NodeMap, ReadsEveryForm) {
    EXPECT_EQ(NodeMap::parse("1x4").node_of, (Nodes{0, 0, 0, 0}));
    EXPECT_EQ(NodeMap::parse("2x2").node_of, (Nodes{0, 0, 1, 1}));
    EXPECT_EQ(NodeMap::parse("2,2,1").node_of, (Nodes{0, 0, 1, 1, 2}));
    EXPECT_EQ(NodeMap::parse("2x2:cyclic").node_of, (Nodes{0, 1, 0, 1}));
    EXPECT_EQ(NodeMap::parse("2,2,1:cyclic").node_of, (Nodes{0, 1, 2, 0, 1}));
    EXPECT_EQ(NodeMap::parse("1,3:cyclic").node_of, (Nodes{0, 1, 1, 1}));
    EXPECT_EQ(NodeMap::parse("2,1:block").node_of, (Nodes{0, 0, 1}));
    EXPECT_EQ(NodeMap::parse("irregular:0,1,1,0").node_of, (Nodes{0, 1, 1, 0}));
}

TEST(NodeMap, PrintsOneTextForEqualMaps) {
    const std::vector<std::pair<std::string, std::string>> texts = {{"4", "1x4"},
                                                                    {"1x4:cyclic", "1x4"},
                                                                    {"4x1:cyclic", "4x1"},
                                                                    {"2,2", "2x2"},
                                                                    {"2,2:cyclic", "2x2:cyclic"},
                                                                    {"1,3:cyclic", "1,3"},
                                                                    {"2,1:block", "2,1"},
                                                                    {"irregular:7", "1x1"},
                                                                    {"irregular:5,5,2,2", "2x2"},
                                                                    {"irregular:3,1,3,1", "2x2:cyclic"},
                                                                    {"irregular:0,1,1,0", "irregular:0,1,1,0"},
                                                                    {"irregular:9,4,4,9", "irregular:0,1,1,0"}};
    for (const auto& [given, canonical] : texts)
        EXPECT_EQ(NodeMap::parse(given).text(), canonical) << given;
}

TEST(NodeMap, IsTheSameAfterPrintingAndReading) {
    std::mt19937 random(1);
    for (int turn = 0; turn < 2000; ++turn) {
        std::vector<std::string> labels(1 + random() % 9);
        for (std::string& label : labels)
            label = std::string(1, static_cast<char>('a' + random() % 4));
        const NodeMap map = NodeMap::of_labels(labels);
        EXPECT_EQ(NodeMap::parse(map.text()), map) << map.text();
        EXPECT_EQ(NodeMap::parse(map.text()).text(), map.text());
    }
}

TEST(NodeMap, CutsRanksIntoNodes) {
    EXPECT_EQ(NodeMap::blocks(5, 2).text(), "2,2,1");
    EXPECT_EQ(NodeMap::blocks(4, 2).text(), "2x2");
    EXPECT_EQ(NodeMap::blocks(3, 8).text(), "1x3");
    EXPECT_THROW(NodeMap::blocks(0, 2), core::Error);
    EXPECT_THROW(NodeMap::blocks(2, 0), core::Error);
}

TEST(NodeMap, KnowsRanksAndLeadersOfANode) {
    const NodeMap map = NodeMap::parse("2,2,1:cyclic");
    EXPECT_EQ(map.ranks(), 5);
    EXPECT_EQ(map.nodes(), 3);
    EXPECT_EQ(map.ranks_of(1), (std::vector<Rank>{1, 4}));
    EXPECT_EQ(map.leader(2), 2);
    EXPECT_EQ(map.leader(3), -1);
    EXPECT_TRUE(map.together(0, 3));
    EXPECT_FALSE(map.together(0, 4));
    EXPECT_EQ(NodeMap{}.nodes(), 0);
    EXPECT_EQ(NodeMap{}.text(), "");
}

TEST(NodeMap, RefusesWhatIsNone) {
    for (const char* text : {"", "x", "0x2", "2x0", "2x", "x2", "2,,1", "2,-1", "2,1:", "2,1:random", "a", "2x2x2", "irregular:", "irregular:0,-1",
                             "irregular:0,", "1048577", "2000x2000", "1048576,1", "99999999999999999999"})
        EXPECT_THROW(NodeMap::parse(text), core::Error) << text;
}

}  // namespace
}  // namespace attune::collectives
