// Curves in a terminal, both axes logarithmic.
#pragma once

#include "apps/tools/bench/sweep.hpp"
#include "apps/tools/support/color.hpp"

#include <string>
#include <utility>
#include <vector>

namespace attune::tools::bench {

struct Series {
    std::string name;
    std::vector<std::pair<double, double>> points;  // x, y; what is not above 0 has no place on the axes and is left out
};

struct PlotOptions {
    std::size_t columns = 64, rows = 16;  // of the field inside the axes
    bool unicode = false;                 // box characters for the axes
    Paint paint{false};
};

// Title, field with axes labelled at powers of ten (y, us) and of two (x, bytes), legend. Empty when no series has a point.
std::string plot_text(const std::string& title, const std::vector<Series>& series, const PlotOptions& options);

// One plot for each collective: time over size, one curve for each form, type, operator, root and number of ranks, and the limit.
std::string plots_text(const std::vector<Line>& lines, const PlotOptions& options);

}  // namespace attune::tools::bench
