// The table: nccl-tests' columns and footer, with what ran and why.
#include "apps/tools/bench/report.hpp"
#include "apps/tools/support/run_tool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace attune::tools::bench {

namespace {

using collectives::Problem;

// Four significant digits in seven columns, as nccl-tests does: 0.1234, 12.34, 123456.
std::string number_text(double value) {
    if (value >= 10000) return fmt::format("{:.0f}", value);
    if (value >= 1000) return fmt::format("{:.1f}", value);
    if (value >= 1) return fmt::format("{:.2f}", value);
    return fmt::format("{:.4f}", value);
}

std::string optional_text(const std::optional<double>& value) {
    return value ? number_text(*value) : "-";
}

std::string form_text(const Cell& cell) {
    if (!cell.times) return fmt::format("{:>8} {:>8} {:>8} {:>6}", "-", "-", "-", "-");
    const double us = cell.times->median_us;
    const std::string wrong = cell.wrong ? std::to_string(*cell.wrong) : "N/A";
    return fmt::format("{:>8} {:>8} {:>8} {:>6}", number_text(us), optional_text(algorithm_bandwidth(cell.problem, us)),
                       optional_text(bus_bandwidth(cell.problem, us)), wrong);
}

// One text for both forms where they agree, else "out/in".
template <class Get>
std::string shared_text(const Line& line, Get get) {
    std::string text;
    for (const Cell& cell : line.cells) {
        if (cell.choice.config.empty()) continue;
        const std::string own = get(cell);
        if (text.empty()) text = own;
        if (text != own) text += "/" + own;
    }
    return text.empty() ? "-" : text;
}

std::string remark_text(const Line& line) {
    std::string text;
    for (const Cell& cell : line.cells) {
        if (!cell.reason.empty() && text.find(cell.reason) == std::string::npos) text += "  # " + cell.reason;
    }
    return text;
}

std::string database_text(const Machine& machine) {
    return machine.loaded.origin.empty() ? "none: defaults" : fmt::format("{} ({} rows)", machine.loaded.origin, machine.loaded.table.size());
}

}  // namespace

std::vector<std::string> warnings_of(const Options& options, const Machine& machine, int ranks) {
    std::vector<std::string> warnings;
    if (machine.oversubscribed(ranks)) {
        warnings.push_back(fmt::format("{} ranks share {} CPUs: times contain waiting for a processor; use -n {} to measure the hardware", ranks,
                                       machine.topology.allowed.cpus.size(), machine.topology.allowed.cpus.size()));
    }
    if (start_mode(options) == tuner::StartMode::streaming) warnings.emplace_back("streaming: calls overlap, so a time is not the latency of one call");
    return warnings;
}

std::string header_text(const Options& options, const Machine& machine, int ranks) {
    std::string text = fmt::format("# attune-bench {}: {} ranks, transport {}, {}, {} cache, {}\n", version(), ranks, options.transport,
                                   facts_of(machine, options, ranks).binding, options.cache, options.mode);
    text +=
        fmt::format("# machine {}, {} CPUs allowed, {}\n", machine.topology.cpu_name, machine.topology.allowed.cpus.size(), machine.topology.instruction_set);
    text += fmt::format("# database {}\n", database_text(machine));
    for (const std::string& warning : warnings_of(options, machine, ranks))
        text += "# warning: " + warning + "\n";
    return text;
}

std::string titles_text(const Options& options, collectives::Collective collective) {
    const bool both = options.in_place == "both" && collective != collectives::Collective::barrier;
    const std::string first = options.in_place == "yes" && collective != collectives::Collective::barrier ? "in-place" : "out-of-place";
    const std::string form = fmt::format("  {:>8} {:>8} {:>8} {:>6}", "time", "algbw", "busbw", "#wrong");
    const std::string units = fmt::format("  {:>8} {:>8} {:>8} {:>6}", "(us)", "(GB/s)", "(GB/s)", "");
    std::string text = fmt::format("#\n# {}\n#{:<49}  {:^33}{}\n", name_of(collective), "", first, both ? fmt::format("  {:^33}", "in-place") : "");
    text += fmt::format("# {:>11} {:>12} {:>8} {:>7} {:>6}{}{}  {:<20} {:<8} {}\n", "size", "count", "type", "redop", "root", form, both ? form : "",
                        "algorithm", "source", "placement");
    text += fmt::format("# {:>11} {:>12} {:>8} {:>7} {:>6}{}{}\n", "(B)", "(elements)", "", "", "", units, both ? units : "");
    return text;
}

std::string line_text(const Options&, const Line& line) {
    const Problem& problem = line.cells.front().problem;
    const std::string_view op = collectives::reduces(problem.collective) ? core::name_of(problem.op) : "none";
    std::string text = fmt::format("  {:>11} {:>12} {:>8} {:>7} {:>6}", problem.bytes(), problem.count, core::name_of(problem.dtype), op,
                                   collectives::is_rooted(problem.collective) ? problem.root : -1);
    for (const Cell& cell : line.cells)
        text += "  " + form_text(cell);
    const std::string algorithm = shared_text(line, [](const Cell& cell) { return cell.choice.config.algorithm(); });
    const std::string source = shared_text(line, [](const Cell& cell) { return std::string(name_of(cell.choice.source)); });
    const std::string placement = shared_text(line, [](const Cell& cell) { return cell.placement; });
    return text + fmt::format("  {:<20} {:<8} {}{}\n", algorithm, source, placement, remark_text(line));
}

std::string footer_text(const Options& options, const Totals& totals) {
    std::string text = "#\n# Out of bounds values : ";
    if (options.check && totals.checked != 0) {
        text += fmt::format("{} {}\n", totals.wrong, totals.wrong == 0 ? "OK" : "FAILED");
    } else {
        text += options.check ? "N/A (no call could be checked)\n" : "N/A (not checked; add --check)\n";
    }
    text += fmt::format("# Avg bus bandwidth    : {}\n", optional_text(totals.average_bus_bandwidth()));
    if (totals.failed != 0) text += fmt::format("# Failed calls          : {}\n", totals.failed);
    return text;
}

std::string failure_text(const Totals& totals) {
    std::string reason = totals.first_failure;
    std::ranges::replace(reason, '\n', ' ');
    return totals.failed == 1 ? "a call failed: " + reason : fmt::format("{} calls failed; the first: {}", totals.failed, reason);
}

}  // namespace attune::tools::bench
