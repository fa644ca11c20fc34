// Every form of attune-bench's output for fixed measurements against approved text.
#include "apps/tools/bench/plot.hpp"
#include "apps/tools/bench/report.hpp"
#include "apps/tools/support/run_tool.hpp"
#include "tests/support/approved.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace attune::tools::bench {
namespace {

using collectives::Collective;

Cell cell_of(Collective collective, std::uint64_t count, bool in_place, double us) {
    Cell cell;
    cell.problem.collective = collective;
    cell.problem.ranks = 2;
    cell.problem.count = count;
    cell.problem.in_place = in_place;
    cell.choice.config = core::Config::parse(count < 4096 ? "algorithm=one_shot" : "algorithm=two_shot");
    cell.times =
        Times{.median_us = us, .low_us = 0.95 * us, .high_us = 1.05 * us, .minimum_us = 0.9 * us, .p95_us = 1.2 * us, .p99_us = 2 * us, .iterations = 100};
    cell.wrong = 0;
    cell.placement = "c0";
    cell.limit_us = std::max(0.01, static_cast<double>(count) * 4 / 8e3);
    return cell;
}

std::vector<Line> example_lines() {
    std::vector<Line> lines;
    for (std::uint64_t count = 2; count <= 1 << 20; count *= 16) {
        const double us = 0.5 + static_cast<double>(count) / 500;
        lines.push_back({{cell_of(Collective::all_reduce, count, false, us), cell_of(Collective::all_reduce, count, true, 0.8 * us)}});
    }
    lines.push_back({{cell_of(Collective::broadcast, 4096, false, 7), cell_of(Collective::broadcast, 4096, true, 6)}});
    Cell& wrong = lines.back().cells[1];
    wrong.wrong = 3;
    wrong.reason = "rank 1: output element 0 is 1, expected 2";
    wrong.rank_us = {5.5, 6};
    Cell refused = cell_of(Collective::broadcast, 8192, false, 1);
    refused.times.reset();
    refused.wrong.reset();
    refused.limit_us.reset();
    refused.reason = "protocol inline | needs short messages";
    lines.push_back({{refused}});
    return lines;
}

Options example_options() {
    Options options;
    options.check = true;
    options.ranks.values = {2};
    return options;
}

Machine example_machine() {
    Machine machine;
    machine.topology.cpu_name = "a machine";
    machine.topology.instruction_set = "any";
    machine.topology.allowed = core::CpuSet::parse("0-1");
    return machine;
}

// Without the lines that name this machine.
std::string table_text() {
    const Options options = example_options();
    Totals totals;
    std::string text;
    std::optional<Collective> current;
    for (const Line& line : example_lines()) {
        totals.add(line);
        const Collective collective = line.cells.front().problem.collective;
        if (collective != current) text += titles_text(options, collective);
        current = collective;
        text += line_text(options, line);
    }
    return text + footer_text(options, totals);
}

TEST(Golden, TheTableIsTheApprovedOne) {
    EXPECT_EQ(test::approved("bench_table.txt", table_text()), "");
}

TEST(Golden, TheMarkdownIsTheApprovedOne) {
    std::string text = markdown_text(example_options(), example_machine(), example_lines());
    text.replace(text.find(version()), version().size(), "VERSION");
    EXPECT_EQ(test::approved("bench_table.md", text), "");
}

TEST(Golden, ThePlotIsTheApprovedOne) {
    EXPECT_EQ(test::approved("bench_plot.txt", plots_text(example_lines(), {})), "");
}

TEST(Golden, TheCommaSeparatedValuesAreTheApprovedOnes) {
    std::string text = csv_titles();
    for (const Line& line : example_lines())
        text += csv_text(line);
    EXPECT_EQ(test::approved("bench_table.csv", text), "");
}

TEST(Golden, TheDocumentIsTheApprovedOne) {
    const std::vector<Line> lines = example_lines();
    Json document = bench_json(example_options(), example_machine(), {lines.front(), lines.end()[-2], lines.back()});
    document["version"] = "VERSION";
    EXPECT_EQ(test::approved("bench_table.json", document.dump(1) + "\n"), "");
}

}  // namespace
}  // namespace attune::tools::bench
