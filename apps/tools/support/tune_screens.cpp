#include "apps/tools/support/tune_screens.hpp"

#include "apps/tools/support/run_tool.hpp"
#include "apps/tools/support/table.hpp"
#include "libcore/text.hpp"
#include "libcore/units.hpp"
#include "tuner/ladder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

namespace attune::tools {
namespace {

constexpr std::size_t lines_shown = 5;  // of failures and notes; all are in the journal and in --json

std::string duration(std::int64_t ns) {
    if (ns < 1'000'000'000) return fmt::format("{} ms", ns / 1'000'000);
    const std::int64_t seconds = (ns + 500'000'000) / 1'000'000'000;
    return seconds < 120 ? fmt::format("{} s", seconds) : fmt::format("{} min {} s", seconds / 60, seconds % 60);
}

tuner::LadderOptions ladder_of(const TunePlan& plan) {
    tuner::LadderOptions ladder;
    ladder.ranks = plan.session.team.ranks;
    ladder.node_map = plan.session.team.node_map;
    if (plan.session.problems.empty()) return ladder;
    const auto& first = plan.session.problems.front();
    ladder.dtype = first.dtype, ladder.op = first.op, ladder.in_place = first.in_place;
    return ladder;
}

const db::ReleaseRow* row_for(const tuner::SessionResult& result, const core::Key& key, std::uint64_t bytes) {
    const auto covers = [&](const db::ReleaseRow& row) { return row.row.key.covers(key) && row.row.low_bytes <= bytes && bytes <= row.row.high_bytes; };
    const auto found = std::ranges::find_if(result.selection.rows, covers);
    return found == result.selection.rows.end() ? nullptr : &*found;
}

// A size that was re-tested itself shows its own gain; others of an interval show that of the interval's weakest size.
GridCell proven_cell(const tuner::SessionResult& result, const core::TableRow& row, std::uint64_t bytes) {
    for (const auto& point : result.selection.proven)
        if (point.key == row.key && point.bytes == bytes && point.config == row.config) return {true, point.gain, point.low, point.high};
    return {true, row.gain, row.gain_low, row.gain_high};
}

// Nothing when the problem was not measured.
std::optional<GridCell> cell_of(const TunePlan& plan, const tuner::SessionResult& result, const collectives::Problem& problem) {
    const auto& problems = plan.session.problems;
    const auto found = std::ranges::find(problems, problem);
    if (found == problems.end()) return std::nullopt;
    const auto index = static_cast<std::size_t>(found - problems.begin());
    if (index < result.keys.size()) {
        if (const auto* row = row_for(result, result.keys[index], problem.bytes())) return proven_cell(result, row->row, problem.bytes());
    }
    const auto refuted = [&](const tuner::TestedPoint& point) {
        return index < result.keys.size() && point.key.covers(result.keys[index]) && point.bytes == problem.bytes();
    };
    const bool searched = index < result.searched.size() && result.searched[index];
    return searched || std::ranges::any_of(result.selection.rejected, refuted) ? std::optional(GridCell{}) : std::nullopt;
}

void add_some(std::string& text, const std::vector<std::string>& lines) {
    for (std::size_t i = 0; i < std::min(lines.size(), lines_shown); ++i)
        text += "  " + lines[i] + "\n";
    if (lines.size() > lines_shown) text += fmt::format("  ... and {} more\n", lines.size() - lines_shown);
}

// What this run did; the selection speaks of everything the journal knows. `between` counts tested sizes that the grid does not have.
struct RunCounts {
    std::size_t tested = 0, between = 0, proven = 0, rows = 0;
};

RunCounts counts_of(const TunePlan& plan, const tuner::SessionResult& result) {
    const auto ours = [&](const tuner::TestedPoint& point) { return point.run == result.run; };
    const auto shown = [&](const tuner::TestedPoint& point) {
        return std::ranges::any_of(plan.session.problems, [&](const collectives::Problem& problem) {
            return collectives::name_of(problem.collective) == point.key.collective && problem.bytes() == point.bytes;
        });
    };
    const auto unseen = [&](const tuner::TestedPoint& point) { return ours(point) && !shown(point); };
    const auto count = [](auto many) { return static_cast<std::size_t>(many); };
    RunCounts counts;
    counts.proven = count(std::ranges::count_if(result.selection.proven, ours));
    counts.tested = counts.proven + count(std::ranges::count_if(result.selection.rejected, ours));
    if (plan.session.recheck.empty())
        counts.between = count(std::ranges::count_if(result.selection.proven, unseen) + std::ranges::count_if(result.selection.rejected, unseen));
    counts.rows = count(std::ranges::count_if(result.selection.rows, [&](const db::ReleaseRow& row) { return row.evidence.run == result.run; }));
    return counts;
}

// The size of a proven row of this run, else the largest one.
std::string size_to_look_up(const TunePlan& plan, const tuner::SessionResult& result, std::string_view collective) {
    for (const auto& row : result.selection.rows)
        if (row.evidence.run == result.run && row.row.key.collective == collective) return core::compact_bytes(row.row.low_bytes);
    return core::compact_bytes(plan.sizes.back());
}

std::string lookup_command(const TunePlan& plan, const tuner::SessionResult& result) {
    const auto ladder = ladder_of(plan);
    const auto collective = plan.collectives.front();
    std::string text = fmt::format("attune-lookup {}", collectives::name_of(collective));
    if (collective != collectives::Collective::barrier) text += " " + size_to_look_up(plan, result, collectives::name_of(collective));
    text += fmt::format(" -n {}", ladder.ranks);
    if (collectives::reduces(collective)) {
        if (ladder.dtype != core::DType::float32) text += fmt::format(" -d {}", core::name_of(ladder.dtype));
        if (ladder.op != core::Op::sum) text += fmt::format(" -o {}", core::name_of(ladder.op));
    }
    if (plan.session.team.transport != "shm") text += " --transport " + plan.session.team.transport;
    if (ladder.in_place) text += " --in-place";
    return text + " --explain";
}

std::string next_commands(const TunePlan& plan, const tuner::SessionResult& result) {
    const std::string db = plan.named ? " --db " + core::shell_word(plan.release_path) : "";
    const std::string variable = plan.named ? " -x " + core::shell_word("ATTUNE_DB=" + plan.release_path) : "";
    if (result.released_at.empty()) {
        const bool elsewhere = plan.journal_path != db::journal_path_of(plan.release_path);
        return fmt::format("next:\n  {}attune-db publish{}{}\n", plan.folder, db, elsewhere ? " --journal " + core::shell_word(plan.journal_path) : "");
    }
    std::string text = fmt::format("next:\n  {}attune-bench --compare default,tuned --rows{}\n", plan.folder, db);
    text += fmt::format("  {}{}{}\n", plan.folder, lookup_command(plan, result), db);
    // Ranks of attune-run are processes.
    if (plan.session.team.transport != "local") text += fmt::format("  {}attune-run -n {}{} -- your program\n", plan.folder, plan.session.team.ranks, variable);
    return text;
}

// A line for each point that was re-tested in this run.
std::string recheck_text(const tuner::SessionResult& result) {
    Table table({{"collective", Align::left}, {"bytes"}, {"gain", Align::left}, {"config", Align::left}});
    const auto add = [&](const tuner::TestedPoint& point) {
        if (point.run != result.run) return;
        const std::string gain = point.reason.empty() ? fmt::format("{:.2f}x [{:.2f},{:.2f}]", point.gain, point.low, point.high) : "same: " + point.reason;
        table.add_row({point.key.collective, core::format_bytes(point.bytes), gain, point.config.text()});
    };
    std::ranges::for_each(result.selection.proven, add);
    std::ranges::for_each(result.selection.rejected, add);
    return table.text();
}

}  // namespace

std::string first_screen(const TunePlan& plan, std::size_t candidates, const std::vector<std::string>& disturbances, const Paint& paint) {
    const auto& session = plan.session;
    std::vector<std::string_view> names;
    for (const auto collective : plan.collectives)
        names.push_back(collectives::name_of(collective));
    std::string text = paint.bold(fmt::format("attune-tune {}", version())) +
                       fmt::format(": {}, {} CPUs allowed, {}\n", plan.topology.cpu_name, plan.topology.allowed.cpus.size(), plan.topology.instruction_set);
    text += fmt::format("  ranks       {} over {}\n", session.team.ranks, session.team.transport);
    if (session.recheck.empty()) {
        const auto sizes = plan.sizes.size() > 1 ? core::format_bytes(plan.sizes.front()) + " to " + core::format_bytes(plan.sizes.back())
                                                 : core::format_bytes(plan.sizes.front());
        text += fmt::format("  problems    {}: {}, {}\n", session.problems.size(), fmt::join(names, " "), sizes);
        text += fmt::format("  candidates  {}, strategy {}\n", candidates, session.strategy);
    } else {
        text += fmt::format("  re-tests    {} published rows\n", session.recheck.size());
    }
    for (const auto& zero : plan.target.candidate_zero)
        text += paint.yellow(fmt::format("  test        the default of {} is replaced by {}", collectives::name_of(zero.collective), zero.algorithm)) + "\n";
    text += fmt::format("  budget      {}\n", duration(session.budget_ns));
    text += fmt::format("  writes      {}{}\n", session.publish ? plan.release_path + "\n              " : "", plan.journal_path);
    for (const auto& line : disturbances)
        text += paint.yellow("warning: ") + line + "\n";
    return text;
}

std::string progress_detail(const tuner::Progress& progress) {
    std::string text(tuner::name_of(progress.phase));
    if (progress.problems > 0) text += fmt::format(" {}/{}", progress.problem, progress.problems);
    text += " " + progress.label;
    if (progress.candidates > 1) text += fmt::format(", {} of {} tried", progress.candidate, progress.candidates - 1);
    if (progress.best_gain > 1.005) text += fmt::format(", best {:.2f}x", progress.best_gain);
    return text;
}

Grid grid_of(const TunePlan& plan, const tuner::SessionResult& result) {
    Grid grid;
    for (const auto collective : plan.collectives)
        grid.titles.emplace_back(collectives::name_of(collective));
    const auto ladder = ladder_of(plan);
    for (const auto bytes : plan.sizes) {
        auto& line = grid.sizes[bytes];
        for (std::size_t column = 0; column < plan.collectives.size(); ++column)
            if (const auto cell = cell_of(plan, result, tuner::problem_of_size(ladder, plan.collectives[column], bytes))) line[column] = *cell;
    }
    return grid;
}

std::string last_screen(const TunePlan& plan, const tuner::SessionResult& result, const Paint& paint) {
    std::string text;
    if (result.already_complete) text += fmt::format("run {} was already complete: nothing was measured; start a new one without --resume\n\n", result.run);
    text += paint.bold("default against tuned") + " (gain with its 99 % interval; same: nothing was proven; empty: not measured)\n";
    text += plan.session.recheck.empty() ? grid_text(grid_of(plan, result)) : recheck_text(result);
    const RunCounts counts = counts_of(plan, result);
    const std::string between = counts.between > 0 ? fmt::format(" ({} between those above)", counts.between) : "";
    text += fmt::format("\n{} trials in {}, {} sizes re-tested{}, {} of them proven, in {} rows\n", result.trials, duration(result.spent_ns), counts.tested,
                        between, counts.proven, counts.rows);
    if (const std::size_t earlier = result.selection.rows.size() - counts.rows; earlier > 0) text += fmt::format("{} rows of earlier runs are kept\n", earlier);
    std::vector<std::string> failures;
    for (const auto& failure : result.failures)
        failures.push_back(fmt::format("{} {} {}: {}", failure.key.collective, core::format_bytes(failure.bytes), failure.config.text(), failure.message));
    if (!failures.empty()) text += paint.yellow(fmt::format("{} candidates failed and are not tried again:", failures.size())) + "\n";
    add_some(text, failures);
    if (!result.notes.empty()) text += paint.yellow("notes:") + "\n";
    add_some(text, result.notes);
    text += !result.released_at.empty() ? fmt::format("database: {}\n", result.released_at) : fmt::format("not published; journal: {}\n", plan.journal_path);
    return text + next_commands(plan, result);
}

std::string command_of(const std::vector<std::string>& words) {
    std::string text = "attune-tune";
    for (const auto& word : words)
        text += " " + core::shell_word(word);
    return text;
}

std::string resume_command(const std::vector<std::string>& words) {
    const bool resumes = std::ranges::find(words, "--resume") != words.end();
    return command_of(words) + (resumes ? "" : " --resume");
}

Json tune_json(const TunePlan& plan, const tuner::SessionResult& result) {
    Json document = json_document("attune.tune/1", plan.topology);
    document["run"] = result.run;
    document["budget_s"] = static_cast<double>(result.budget_ns) / 1e9;
    document["spent_s"] = static_cast<double>(result.spent_ns) / 1e9;
    document["trials"] = result.trials;
    document["replayed"] = result.replayed;
    document["interrupted"] = result.interrupted;
    document["db"] = result.released_at.empty() ? Json(nullptr) : Json(result.released_at);
    document["journal"] = plan.journal_path;
    document["rows"] = Json::array();
    for (const auto& row : result.selection.rows) {
        document["rows"].push_back({{"key", row.row.key.text()},
                                    {"low_bytes", row.row.low_bytes},
                                    {"high_bytes", row.row.high_bytes},
                                    {"config", row.row.config.text()},
                                    {"gain", json_number(row.row.gain)},
                                    {"ci_low", json_number(row.row.gain_low)},
                                    {"ci_high", json_number(row.row.gain_high)},
                                    {"floor", json_number(row.evidence.floor)},
                                    {"blocks", row.evidence.blocks},
                                    {"launches", row.evidence.launches},
                                    {"complete", row.evidence.complete}});
    }
    document["rejected"] = Json::array();
    for (const auto& point : result.selection.rejected)
        document["rejected"].push_back({{"key", point.key.text()}, {"bytes", point.bytes}, {"config", point.config.text()}, {"reason", point.reason}});
    document["failures"] = Json::array();
    for (const auto& failure : result.failures)
        document["failures"].push_back({{"key", failure.key.text()},
                                        {"bytes", failure.bytes},
                                        {"config", failure.config.text()},
                                        {"outcome", db::name_of(failure.outcome)},
                                        {"message", failure.message}});
    document["notes"] = result.notes;
    return document;
}

}  // namespace attune::tools
