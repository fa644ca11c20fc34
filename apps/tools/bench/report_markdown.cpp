// The results as Markdown.
#include "apps/tools/bench/report.hpp"
#include "libcore/units.hpp"

#include <fmt/format.h>

#include <optional>

namespace attune::tools::bench {

namespace {

std::string number(const std::optional<double>& value) {
    return value ? fmt::format("{:.4g}", *value) : "-";
}

// A bar would end the cell.
std::string escaped(const std::string& text) {
    std::string out;
    for (const char letter : text)
        out += letter == '|' ? std::string("\\|") : std::string(1, letter == '\n' ? ' ' : letter);
    return out;
}

std::string row_text(const Cell& cell) {
    const collectives::Problem& p = cell.problem;
    const std::string op(collectives::reduces(p.collective) ? core::name_of(p.op) : "none");
    const std::string root = collectives::is_rooted(p.collective) ? std::to_string(p.root) : "-";
    std::string text = fmt::format("| {} | {} | {} | {} | {} | {} | {} ", core::format_bytes(bytes_of(p)), count_of(p), core::name_of(p.dtype), op, root,
                                   p.ranks, p.in_place ? "in place" : "out of place");
    if (cell.times) {
        const Times& t = *cell.times;
        text += fmt::format("| {} | {}–{} | {} | {} ", core::format_time_us(t.median_us), core::format_time_us(t.low_us), core::format_time_us(t.high_us),
                            number(cell.algorithm_bandwidth()), number(cell.bus_bandwidth()));
    } else {
        text += "| - | - | - | - ";
    }
    const std::string limit = cell.limit_us ? core::format_time_us(*cell.limit_us) : "-";
    const std::string choice = cell.times ? cell.choice.config.algorithm() : escaped(cell.reason);
    return text + fmt::format("| {} | {} | {} | {} |\n", cell.wrong ? std::to_string(*cell.wrong) : "-", limit, choice, name_of(cell.choice.source));
}

std::string titles(const Options& options, collectives::Collective collective) {
    const std::string shape = shape_of(options, collective);
    return fmt::format("\n## {}{}\n\n", name_of(collective), shape.empty() ? "" : ", " + shape) +
           "| size | count | type | redop | root | ranks | form | time | 95 % interval | algbw (GB/s) | busbw (GB/s) | wrong | limit | algorithm | source |\n"
           "|---:|---:|---|---|---:|---:|---|---:|---:|---:|---:|---:|---:|---|---|\n";
}

// "# ..." lines as a block of text.
std::string block(const std::string& text) {
    return "```\n" + text + "```\n";
}

}  // namespace

std::string markdown_text(const Options& options, const Machine& machine, const std::vector<Line>& lines) {
    Totals totals;
    std::string text = "# attune-bench\n\n" + block(header_text(options, machine, options.ranks.values.front()));
    std::optional<collectives::Collective> current;
    for (const Line& line : lines) {
        totals.add(line);
        const collectives::Collective collective = line.cells.front().problem.collective;
        if (collective != current) text += titles(options, collective);
        current = collective;
        for (const Cell& cell : line.cells)
            text += row_text(cell);
    }
    return text + "\n" + block(footer_text(options, totals));
}

}  // namespace attune::tools::bench
