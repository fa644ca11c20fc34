#include "apps/tools/support/table.hpp"

#include "libcore/error.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

namespace attune::tools {
namespace {

constexpr std::size_t gap = 2;

struct Range {
    std::uint32_t first;
    std::uint32_t last;
};
// The blocks that matter in practice (Unicode 15, EastAsianWidth W and F; general category Mn, and zero-width characters).
constexpr Range wide_ranges[] = {{0x1100, 0x115F}, {0x2E80, 0x303E}, {0x3041, 0xA4CF},   {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},
                                 {0xFF00, 0xFF60}, {0xFFE0, 0xFFE6}, {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};
constexpr Range empty_ranges[] = {{0x0300, 0x036F}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}};

bool is_in(std::uint32_t code, const auto& ranges) {
    return std::any_of(std::begin(ranges), std::end(ranges), [code](const Range& range) { return code >= range.first && code <= range.last; });
}

std::size_t sequence_length(unsigned char lead) {
    if (lead < 0xC0) {
        return 1;
    }
    if (lead < 0xE0) {
        return 2;
    }
    return lead < 0xF0 ? 3 : 4;
}

// Takes one character off the front; a broken sequence is one character of one byte.
std::uint32_t take_character(std::string_view& text) {
    const auto lead = static_cast<unsigned char>(text.front());
    const std::size_t length = sequence_length(lead);
    std::uint32_t code = length == 1 ? lead : lead & (0xFFu >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
        if (i >= text.size() || (static_cast<unsigned char>(text[i]) & 0xC0u) != 0x80u) {
            text.remove_prefix(1);
            return lead;
        }
        code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3Fu);
    }
    text.remove_prefix(length);
    return code;
}

// Skips "ESC [ ... letter" at the front.
bool skip_color(std::string_view& text) {
    if (!text.starts_with("\033[")) {
        return false;
    }
    const std::size_t end = text.find_first_not_of("0123456789;", 2);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    return true;
}

std::string aligned(const std::string& cell, std::size_t width, Align align) {
    const std::string pad(width - std::min(width, display_width(cell)), ' ');
    return align == Align::left ? cell + pad : pad + cell;
}

}  // namespace

std::size_t display_width(std::string_view text) {
    std::size_t width = 0;
    while (!text.empty()) {
        if (skip_color(text)) {
            continue;
        }
        const std::uint32_t code = take_character(text);
        if (!is_in(code, empty_ranges)) {
            width += is_in(code, wide_ranges) ? 2 : 1;
        }
    }
    return width;
}

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::add_row(std::vector<std::string> cells) {
    if (cells.size() > columns_.size()) {
        throw core::Error(core::ErrorCode::failure,
                          "a table row has " + std::to_string(cells.size()) + " cells for " + std::to_string(columns_.size()) + " columns");
    }
    cells.resize(columns_.size());
    rows_.push_back(std::move(cells));
}

void Table::add_rule() {
    rows_.emplace_back();
}

std::vector<std::size_t> Table::widths() const {
    std::vector<std::size_t> widths;
    for (std::size_t column = 0; column < columns_.size(); ++column) {
        std::size_t width = display_width(columns_[column].title);
        for (const auto& row : rows_) {
            width = row.empty() ? width : std::max(width, display_width(row[column]));
        }
        widths.push_back(width);
    }
    return widths;
}

std::string Table::text() const {
    const std::vector<std::size_t> width = widths();
    const std::size_t total = std::accumulate(width.begin(), width.end(), std::size_t{0}) + gap * (width.empty() ? 0 : width.size() - 1);
    const std::string rule = std::string(total, '-') + '\n';
    const auto line = [&](const auto& cell_of) {
        std::string text;
        for (std::size_t column = 0; column < columns_.size(); ++column) {
            text += (column == 0 ? "" : std::string(gap, ' ')) + aligned(cell_of(column), width[column], columns_[column].align);
        }
        return text.erase(text.find_last_not_of(' ') + 1) + '\n';
    };
    std::string text = line([&](std::size_t column) { return columns_[column].title; }) + rule;
    for (const auto& row : rows_) {
        text += row.empty() ? rule : line([&](std::size_t column) { return row[column]; });
    }
    return text;
}

}  // namespace attune::tools
