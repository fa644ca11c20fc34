#include "apps/tools/support/grid.hpp"

#include "apps/tools/support/row_text.hpp"
#include "apps/tools/support/table.hpp"
#include "libcore/units.hpp"

#include <algorithm>
#include <set>

namespace attune::tools {

namespace {

using KeySet = std::map<std::string, core::Key>;  // by text, so in a fixed order

// Trials have the root they ran at, rows may hold for any: one column shows both.
core::Key column_key(core::Key key) {
    if (key.root_class != "none") key.root_class = "any";
    return key;
}

// What may tell two problems of one collective apart, as shown in a title.
std::vector<std::string> marks_of(const core::Key& key) {
    const std::string ranks = std::to_string(key.ranks);
    const std::string nodes = key.node_map == "1x" + ranks ? "" : " " + key.node_map;
    return {
        ranks + " ranks" + nodes, key.dtype_class, key.op,     "root " + key.root_class, key.transport, key.in_place ? "in place" : "out of place", key.buffers,
        key.determinism,          key.objective,   key.binding};
}

std::string title_of(const core::Key& key, const KeySet& keys) {
    const std::vector<std::string> own = marks_of(key);
    std::vector<bool> differs(own.size(), false);
    for (const auto& [text, other] : keys) {
        if (other.collective != key.collective) continue;
        const std::vector<std::string> marks = marks_of(other);
        for (std::size_t i = 0; i < own.size(); ++i)
            if (marks[i] != own[i]) differs[i] = true;
    }
    std::string title = key.collective;
    for (std::size_t i = 0; i < own.size(); ++i)
        if (differs[i]) title += " " + own[i];
    return title;
}

KeySet keys_in(const std::vector<db::Trial>& trials, const std::vector<db::ReleaseRow>& rows) {
    KeySet keys;
    for (const db::Trial& trial : trials)
        keys.emplace(column_key(trial.key).text(), column_key(trial.key));
    for (const db::ReleaseRow& row : rows)
        keys.emplace(column_key(row.row.key).text(), column_key(row.row.key));
    return keys;
}

GridCell cell_of(const core::TableRow& row) {
    return {true, row.gain, row.gain_low, row.gain_high};
}

std::string text_of(const GridCell& cell) {
    return cell.proven ? gain_text(cell.gain, cell.low, cell.high) : "same";
}

// One table of the columns [first, last).
std::string part_text(const Grid& grid, std::size_t first, std::size_t last) {
    std::vector<Column> columns = {{"bytes"}};
    for (std::size_t column = first; column < last; ++column)
        columns.push_back({grid.titles[column]});
    Table table(std::move(columns));
    for (const auto& [bytes, cells] : grid.sizes) {
        std::vector<std::string> line = {core::format_bytes(bytes)};
        for (std::size_t column = first; column < last; ++column) {
            const auto cell = cells.find(column);
            line.push_back(cell == cells.end() ? "" : text_of(cell->second));
        }
        table.add_row(std::move(line));
    }
    return table.text();
}

}  // namespace

Grid make_grid(const std::vector<db::Trial>& trials, const std::vector<db::ReleaseRow>& rows, std::span<const std::uint64_t> only) {
    Grid grid;
    const KeySet keys = keys_in(trials, rows);
    std::map<std::string, std::size_t> column_of;
    for (const auto& [text, key] : keys) {
        column_of.emplace(text, grid.titles.size());
        grid.titles.push_back(title_of(key, keys));
    }
    const auto wanted = [only](std::uint64_t bytes) { return only.empty() || std::ranges::find(only, bytes) != only.end(); };
    for (const db::Trial& trial : trials)
        if (wanted(trial.bytes)) grid.sizes[trial.bytes].try_emplace(column_of.at(column_key(trial.key).text()));
    for (const db::ReleaseRow& row : rows) {
        const std::size_t column = column_of.at(column_key(row.row.key).text());
        for (const std::uint64_t end : {row.row.low_bytes, row.row.high_bytes})
            if (wanted(end)) grid.sizes[end][column] = cell_of(row.row);
        const auto last = grid.sizes.upper_bound(row.row.high_bytes);
        for (auto line = grid.sizes.lower_bound(row.row.low_bytes); line != last; ++line)
            line->second[column] = cell_of(row.row);
    }
    return grid;
}

std::string grid_text(const Grid& grid, std::size_t columns) {
    constexpr std::size_t size_width = 10, cell_width = 19;  // "1023.99 KiB", "10.42x [9.38,11.47]"
    std::string out;
    for (std::size_t first = 0; first < grid.titles.size();) {
        std::size_t width = size_width;
        std::size_t last = first;
        while (last < grid.titles.size() && (last == first || width + std::max(cell_width, grid.titles[last].size() + 2) <= columns)) {
            width += std::max(cell_width, grid.titles[last].size() + 2);
            ++last;
        }
        out += (out.empty() ? "" : "\n") + part_text(grid, first, last);
        first = last;
    }
    return out;
}

}  // namespace attune::tools
