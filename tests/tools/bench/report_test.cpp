// Plots of fixed measurements.
#include "apps/tools/bench/plot.hpp"
#include "libcore/text.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace attune::tools::bench {
namespace {

TEST(Plot, APowerLawIsAStraightLineFromCornerToCorner) {
    Series series{"line", {}};
    for (double x = 1; x <= 1024; x *= 2)
        series.points.emplace_back(x, x * x);
    const std::string text = plot_text("title", {series}, {.columns = 11, .rows = 11});
    std::vector<std::string> rows = core::split(text, '\n');
    for (std::size_t row = 0; row < 11; ++row) {
        const std::string field = rows.at(row + 1).substr(rows.at(row + 1).find('|') + 1);
        EXPECT_EQ(field.find('*'), 10 - row) << text;
    }
}

TEST(Plot, NothingToDrawIsNothingAndColorIsOnlyThereWhenAskedFor) {
    EXPECT_EQ(plot_text("title", {{"empty", {}}, {"zero", {{0, 1}, {8, 0}}}}, {}), "");
    EXPECT_EQ(plots_text({}, {}), "");
    const std::vector<Series> one = {{"point", {{8, 1}}}};
    EXPECT_EQ(plot_text("title", one, {}).find('\033'), std::string::npos);
    EXPECT_NE(plot_text("title", one, {.paint = Paint(true)}).find('\033'), std::string::npos);
    EXPECT_NE(plot_text("title", one, {.unicode = true}).find("└"), std::string::npos);
}

TEST(Report, ManyRowsGetLessTimeEach) {
    EXPECT_DOUBLE_EQ(row_time_ns(1), 100e6);
    EXPECT_DOUBLE_EQ(row_time_ns(300), 100e6);
    EXPECT_DOUBLE_EQ(row_time_ns(1000), 30e6);
    EXPECT_DOUBLE_EQ(row_time_ns(1'000'000), 10e6);
}

}  // namespace
}  // namespace attune::tools::bench
