// The grid of default against tuned: a line per size tried, a column per problem.
#include "apps/tools/support/grid.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace attune::tools {

namespace {

core::Key key(const std::string& collective, int ranks = 4) {
    core::Key out;
    out.collective = collective;
    out.dtype_class = "float32";
    out.op = "sum";
    out.ranks = ranks;
    out.node_map = "1x" + std::to_string(ranks);
    out.transport = "shm";
    return out;
}

db::Trial trial(const core::Key& problem, std::uint64_t bytes) {
    db::Trial out;
    out.key = problem;
    out.bytes = bytes;
    return out;
}

db::ReleaseRow row(const core::Key& problem, std::uint64_t low, std::uint64_t high) {
    db::ReleaseRow out;
    out.row.key = problem;
    out.row.low_bytes = low;
    out.row.high_bytes = high;
    out.row.gain = 1.42;
    out.row.gain_low = 1.38;
    out.row.gain_high = 1.47;
    return out;
}

std::vector<std::string> lines(const std::string& text) {
    std::vector<std::string> out;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);)
        out.push_back(line);
    return out;
}

}  // namespace

TEST(Grid, ShowsProvenSameAndUntriedCells) {
    const Grid grid = make_grid({trial(key("all_reduce"), 8), trial(key("all_reduce"), 64), trial(key("broadcast"), 64)}, {row(key("all_reduce"), 8, 32)});
    EXPECT_EQ(grid.titles, (std::vector<std::string>{"all_reduce", "broadcast"}));
    ASSERT_EQ(grid.sizes.size(), 3U);  // 32 is known from the row
    EXPECT_TRUE(grid.sizes.at(8).at(0).proven);
    EXPECT_TRUE(grid.sizes.at(32).at(0).proven);
    EXPECT_FALSE(grid.sizes.at(64).at(0).proven);
    EXPECT_FALSE(grid.sizes.at(8).contains(1));
    const auto text = lines(grid_text(grid));
    ASSERT_EQ(text.size(), 5U);
    EXPECT_NE(text[2].find("8 B  1.42x [1.38,1.47]"), std::string::npos) << text[2];
    EXPECT_EQ(std::count_if(text.begin(), text.end(), [](const std::string& line) { return line.find("same") != std::string::npos; }), 1);
}

TEST(Grid, ARowCoversTheSizesInsideItsInterval) {
    const Grid grid = make_grid({trial(key("all_reduce"), 16), trial(key("all_reduce"), 128)}, {row(key("all_reduce"), 8, 64)});
    EXPECT_TRUE(grid.sizes.at(16).at(0).proven);
    EXPECT_FALSE(grid.sizes.at(128).at(0).proven);
}

TEST(Grid, CanBeLimitedToSomeSizes) {
    const std::vector<std::uint64_t> only = {8, 64};
    const Grid grid = make_grid({trial(key("all_reduce"), 8), trial(key("all_reduce"), 12)}, {row(key("all_reduce"), 8, 100)}, only);
    ASSERT_EQ(grid.sizes.size(), 1U);
    EXPECT_EQ(grid.sizes.begin()->first, 8U);
}

TEST(Grid, EqualNamesAreToldApart) {
    const Grid grid = make_grid({trial(key("all_reduce", 2), 8), trial(key("all_reduce", 4), 8), trial(key("broadcast", 4), 8)}, {});
    EXPECT_EQ(grid.titles, (std::vector<std::string>{"all_reduce 2 ranks", "all_reduce 4 ranks", "broadcast"}));
}

TEST(Grid, IsSplitWhenItIsTooWide) {
    std::vector<db::Trial> trials;
    for (const char* name : {"all_gather", "all_reduce", "barrier", "broadcast", "reduce_scatter", "scan"})
        trials.push_back(trial(key(name), 8));
    const std::string text = grid_text(make_grid(trials, {}));
    for (const std::string& line : lines(text))
        EXPECT_LE(line.size(), 100U);
    EXPECT_NE(text.find("\n\n"), std::string::npos);
    EXPECT_NE(text.find("scan"), std::string::npos);
    for (const std::string& line : lines(grid_text(make_grid(trials, {}), 10)))
        EXPECT_LE(line.size(), 40U);  // one column at least
}

TEST(Grid, OfNothingIsEmpty) {
    EXPECT_EQ(grid_text(make_grid({}, {})), "");
}

}  // namespace attune::tools
