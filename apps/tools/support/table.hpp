// Aligned text tables. Widths count what a terminal shows: UTF-8 characters, not bytes, and no color codes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace attune::tools {

// Columns a terminal uses for the text: 0 for combining marks and color codes, 2 for wide (CJK, emoji) characters. A broken byte counts one.
std::size_t display_width(std::string_view text);

enum class Align { left, right };

struct Column {
    std::string title;
    Align align = Align::right;
};

class Table {
public:
    explicit Table(std::vector<Column> columns);

    // Missing cells are empty. Throws Error(failure) for more cells than columns.
    void add_row(std::vector<std::string> cells);
    void add_rule();  // a line between groups of rows

    // Titles, a rule and the rows; columns two spaces apart; no spaces at line ends.
    std::string text() const;

private:
    std::vector<std::size_t> widths() const;
    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;  // an empty row is a rule
};

}  // namespace attune::tools
