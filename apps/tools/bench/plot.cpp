#include "apps/tools/bench/plot.hpp"

#include "libcore/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string_view>

namespace attune::tools::bench {

namespace {

constexpr std::string_view marks = "*o+x#@%&=abcdefghijklmnpqrstuvwyz";
constexpr char limit_mark = '.';
constexpr const char* limit_name = "memory copy";
constexpr std::size_t label_width = 9;

// One axis: values to cells.
struct Axis {
    double low = std::numeric_limits<double>::infinity(), high = 0;
    std::size_t cells = 1;

    void include(double value) {
        low = std::min(low, value);
        high = std::max(high, value);
    }
    std::size_t cell(double value) const {
        if (high <= low) return 0;
        const double part = std::log(value / low) / std::log(high / low);
        return static_cast<std::size_t>(std::lround(part * static_cast<double>(cells - 1)));
    }
};

class Field {
public:
    Field(const std::vector<Series>& series, const PlotOptions& options) : options_(options), rows_(options.rows, std::string(options.columns, ' ')) {
        x_.cells = options.columns;
        y_.cells = options.rows;
        for (const Series& one : series) {
            for (const auto& [x, y] : one.points) {
                if (x <= 0 || y <= 0) continue;
                x_.include(x);
                y_.include(y);
            }
        }
    }
    bool empty() const { return x_.high == 0; }

    // Later series lie on top of earlier ones.
    void draw(const Series& series, char mark) {
        for (const auto& [x, y] : series.points) {
            if (x > 0 && y > 0) rows_[options_.rows - 1 - y_.cell(y)][x_.cell(x)] = mark;
        }
    }

    std::string text(const std::map<char, std::size_t>& colors) const {
        const char* bar = options_.unicode ? "│" : "|";
        std::map<std::size_t, std::string> labels = y_labels();
        std::string text;
        for (std::size_t row = 0; row < rows_.size(); ++row)
            text += fmt::format("{:>{}} {}{}\n", labels[options_.rows - 1 - row], label_width, bar, painted_row(rows_[row], colors));
        return text + x_axis();
    }

private:
    // Ends and powers of ten, each on a row of its own.
    std::map<std::size_t, std::string> y_labels() const {
        std::map<std::size_t, std::string> labels;
        for (double power = std::pow(10.0, std::ceil(std::log10(y_.low))); power <= y_.high; power *= 10)
            labels[y_.cell(power)] = core::format_time_us(power);
        if (labels.empty()) labels[0] = core::format_time_us(y_.low);
        return labels;
    }

    std::string x_axis() const {
        std::string line;
        for (std::size_t cell = 0; cell < options_.columns; ++cell)
            line += options_.unicode ? "─" : "-";
        const std::string low = core::format_bytes(static_cast<std::uint64_t>(x_.low)), high = core::format_bytes(static_cast<std::uint64_t>(x_.high));
        std::string labels = low;
        if (x_.high > x_.low)
            labels += std::string(std::max<std::size_t>(options_.columns - std::min(options_.columns, low.size() + high.size()), 1), ' ') + high;
        return fmt::format("{:>{}} {}{}\n{:>{}}  {}\n", "", label_width, options_.unicode ? "└" : "+", line, "", label_width, labels);
    }

    std::string painted_row(const std::string& row, const std::map<char, std::size_t>& colors) const {
        std::string text;
        for (const char mark : row.substr(0, row.find_last_not_of(' ') + 1)) {
            const auto color = colors.find(mark);
            text += color == colors.end() ? std::string(1, mark) : painted(mark, color->second);
        }
        return text;
    }

    std::string painted(char mark, std::size_t number) const {
        const std::string text(1, mark);
        switch (number % 4) {
            case 0:
                return options_.paint.green(text);
            case 1:
                return options_.paint.yellow(text);
            case 2:
                return options_.paint.red(text);
            default:
                return options_.paint.bold(text);
        }
    }

    PlotOptions options_;
    Axis x_, y_;
    std::vector<std::string> rows_;
};

// What tells one curve from another of the same collective.
std::string series_name(const Cell& cell) {
    const collectives::Problem& p = cell.problem;
    std::string name = fmt::format("{} {}", p.in_place ? "in place" : "out of place", core::name_of(p.dtype));
    if (collectives::reduces(p.collective)) name += fmt::format(" {}", core::name_of(p.op));
    if (collectives::is_rooted(p.collective)) name += fmt::format(" root {}", p.root);
    return name + fmt::format(" n={}", p.ranks);
}

// In order of appearance.
std::vector<Series> series_of(const std::vector<const Cell*>& cells) {
    std::vector<Series> series = {{limit_name, {}}};
    std::map<double, double> limits;
    for (const Cell* cell : cells) {
        const auto x = static_cast<double>(bytes_of(cell->problem));
        if (cell->limit_us) limits[x] = *cell->limit_us;
        if (!cell->times) continue;
        auto found = std::ranges::find(series, series_name(*cell), &Series::name);
        if (found == series.end()) found = series.insert(series.end(), {series_name(*cell), {}});
        found->points.emplace_back(x, cell->times->median_us);
    }
    series.front().points.assign(limits.begin(), limits.end());
    return series;
}

}  // namespace

std::string plot_text(const std::string& title, const std::vector<Series>& series, const PlotOptions& options) {
    Field field(series, options);
    if (field.empty()) return {};
    std::map<char, std::size_t> colors;
    std::string legend;
    std::size_t next = 0;
    for (const Series& one : series) {
        if (one.points.empty()) continue;
        const bool limit = one.name == limit_name;
        const char mark = limit ? limit_mark : marks[next % marks.size()];
        if (!limit) colors[mark] = next++;
        field.draw(one, mark);
        legend += fmt::format("{:>{}}  {} {}\n", "", label_width, mark, one.name);
    }
    return title + "\n" + field.text(colors) + legend;
}

std::string plots_text(const std::vector<Line>& lines, const PlotOptions& options) {
    std::vector<collectives::Collective> order;
    std::map<collectives::Collective, std::vector<const Cell*>> by_collective;
    for (const Line& line : lines) {
        for (const Cell& cell : line.cells) {
            if (!by_collective.contains(cell.problem.collective)) order.push_back(cell.problem.collective);
            by_collective[cell.problem.collective].push_back(&cell);
        }
    }
    std::string text;
    for (const collectives::Collective collective : order) {
        const std::string plot = plot_text(fmt::format("{}: time over size", name_of(collective)), series_of(by_collective[collective]), options);
        if (!plot.empty()) text += (text.empty() ? "" : "\n") + plot;
    }
    return text;
}

}  // namespace attune::tools::bench
