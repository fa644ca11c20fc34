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
    const std::string wrong = cell.wrong ? std::to_string(*cell.wrong) : "N/A";
    return fmt::format("{:>8} {:>8} {:>8} {:>6}", number_text(cell.times->median_us), optional_text(cell.algorithm_bandwidth()),
                       optional_text(cell.bus_bandwidth()), wrong);
}

// Both forms have the same limit: one copy of as many bytes.
std::string limit_text(const Line& line) {
    for (const Cell& cell : line.cells) {
        if (cell.limit_us) return number_text(*cell.limit_us);
    }
    return "-";
}

std::string rank_lines(const Line& line) {
    std::string text;
    for (const Cell& cell : line.cells) {
        if (cell.rank_us.empty()) continue;
        text += fmt::format("#   {} us of ranks 0..{}:", cell.problem.in_place ? "in-place" : "out-of-place", cell.rank_us.size() - 1);
        for (const double us : cell.rank_us)
            text += " " + number_text(us);
        text += "\n";
    }
    return text;
}

bool forms_apart(const Options& options, collectives::Collective collective) {
    return options.in_place == "both" && has_in_place_form(collective);
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
    if (start_mode(options, collectives::Collective::barrier) == tuner::StartMode::streaming)
        warnings.emplace_back("streaming: calls overlap, so a time is not the latency of one call");
    if (skew_of(options).skew != tuner::Skew::none) warnings.push_back(fmt::format("skew {}: a time counts from the last rank's arrival", options.skew));
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
    const bool both = forms_apart(options, collective);
    const bool in_place = options.in_place == "yes" && has_in_place_form(collective);
    const std::string form = fmt::format("  {:>8} {:>8} {:>8} {:>6}", "time", "algbw", "busbw", "#wrong");
    const std::string units = fmt::format("  {:>8} {:>8} {:>8} {:>6}", "(us)", "(GB/s)", "(GB/s)", "");
    const std::string shape = shape_of(options, collective);
    std::string text = fmt::format("#\n# {}{}\n", name_of(collective), shape.empty() ? "" : ", " + shape);
    text += fmt::format("#{:<49}  {:^33}{}\n", "", in_place ? "in-place" : "out-of-place", both ? fmt::format("  {:^33}", "in-place") : "");
    text += fmt::format("# {:>11} {:>12} {:>8} {:>7} {:>6}{}{}  {:>8}  {:<20} {:<8} {}\n", "size", "count", "type", "redop", "root", form, both ? form : "",
                        "limit", "algorithm", "source", "placement");
    text += fmt::format("# {:>11} {:>12} {:>8} {:>7} {:>6}{}{}  {:>8}\n", "(B)", "(elements)", "", "", "", units, both ? units : "", "(us)");
    return text;
}

std::string line_text(const Options& options, const Line& line) {
    const Problem& problem = line.cells.front().problem;
    const std::string_view op = collectives::reduces(problem.collective) ? core::name_of(problem.op) : "none";
    std::string text = fmt::format("  {:>11} {:>12} {:>8} {:>7} {:>6}", bytes_of(problem), count_of(problem), core::name_of(problem.dtype), op,
                                   collectives::is_rooted(problem.collective) ? problem.root : -1);
    for (const Cell& cell : line.cells)
        text += "  " + form_text(cell);
    const std::string algorithm = shared_text(line, [](const Cell& cell) { return cell.choice.config.algorithm(); });
    const std::string source = shared_text(line, [](const Cell& cell) { return std::string(name_of(cell.choice.source)); });
    const std::string placement = shared_text(line, [](const Cell& cell) { return cell.placement; });
    const std::optional<double> rate = options.pattern == "rate" ? line.cells.front().message_rate() : std::nullopt;
    return text +
           fmt::format("  {:>8}  {:<20} {:<8} {}{}{}\n", limit_text(line), algorithm, source, placement,
                       rate ? fmt::format("  # {:.4g} messages/s", *rate) : "", remark_text(line)) +
           rank_lines(line);
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
