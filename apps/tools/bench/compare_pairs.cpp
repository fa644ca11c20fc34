// Which pairs a comparison consists of.
#include "apps/tools/bench/compare.hpp"
#include "apps/tools/bench/compare_sides.hpp"
#include "libcore/error.hpp"
#include "libcore/units.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace attune::tools::bench {

namespace {

using collectives::Problem;

// Rows of gather_v and its like know no size: their choice ignores it.
Problem any_size(const Options& options, const Problem& shape) {
    constexpr std::uint64_t example_bytes = 64 * 1024;
    return with_traffic(options, shape, example_bytes / core::size_of(shape.dtype));
}

// Elements of a _v form come in whole shares of all ranks, so that balanced blocks are equal.
std::uint64_t unit_count(const Problem& shape) {
    return is_v_form(shape.collective) ? static_cast<std::uint64_t>(shape.ranks) : 1;
}

// The problem of a row at `bytes` total; rounded up to whole elements and ranks, because lower sizes may lie outside the row.
std::optional<Problem> problem_at(const Options& options, const core::TableRow& row, std::uint64_t bytes) {
    Problem problem;
    problem.collective = collectives::parse_collective(row.key.collective);
    problem.ranks = row.key.ranks;
    problem.node_map = row.key.node_map;
    if (row.key.dtype_class != "bytes") problem.dtype = core::parse_dtype(row.key.dtype_class);
    if (row.key.op != "none") problem.op = core::parse_op(row.key.op);
    problem.in_place = row.key.in_place;
    if (row.key.root_class != "none" && row.key.root_class != "any") problem.root = std::stoi(row.key.root_class);
    if (problem.collective == collectives::Collective::barrier) return problem;
    if (row.high_bytes == 0) return any_size(options, problem);
    const auto at = [&](std::uint64_t count) { return with_traffic(options, problem, count); };
    const std::uint64_t unit = at(unit_count(problem)).key_bytes();
    Problem found = at((bytes + unit - 1) / unit * unit_count(problem));
    if (found.key_bytes() > row.high_bytes) found = at(row.high_bytes / unit * unit_count(problem));
    if (found.key_bytes() < row.low_bytes) return std::nullopt;
    return found;
}

// The chooser counts rows of its table ("row 0 skipped: why"); here the row is named by its id already.
std::string without_number(const std::string& reason) {
    const std::string mark = " skipped: ";
    const std::size_t end = reason.find(mark);
    return reason.starts_with("row ") && end != std::string::npos ? reason.substr(end + mark.size()) : reason;
}

class RowPairs {
public:
    RowPairs(const Options& options, const Machine& machine) : options_(options), machine_(machine) {}

    void add(const db::ReleaseRow& row) {
        try {
            add_applicable(row);
        } catch (const core::Error& error) {
            skip(row, error.what());
        }
    }
    Pairs result;

private:
    // Both ends of a row are often skipped for the same reason: a row is told once.
    void skip(const db::ReleaseRow& row, const std::string& why) {
        if (std::exchange(last_skipped_, row.id) != row.id) result.skipped.push_back("row " + row.id + " (" + row.row.key.text() + "): " + why);
    }

    void add_applicable(const db::ReleaseRow& row) {
        const core::Key& key = row.row.key;
        const std::vector<std::uint64_t> ends = ends_asked_for(row.row);
        if (ends.empty() || !wanted(key)) return;
        if (key.binding == "bound" && machine_.oversubscribed(key.ranks)) return skip(row, "needs one CPU for each of its ranks");
        for (const std::uint64_t bytes : ends)
            add_end(row, bytes);
    }

    // Of the row's interval what -b and -e leave of it; rows that know no size are for every size.
    std::vector<std::uint64_t> ends_asked_for(const core::TableRow& row) const {
        const bool all = !options_.sizes_given || row.high_bytes == 0;
        const std::uint64_t low = all ? row.low_bytes : std::max(row.low_bytes, options_.sizes.min_bytes);
        const std::uint64_t high = all ? row.high_bytes : std::min(row.high_bytes, options_.sizes.max_bytes);
        if (low > high) return {};
        return low == high ? std::vector{low} : std::vector{low, high};
    }

    bool wanted(const core::Key& key) const {
        const std::vector<collectives::Collective> asked = collectives_of(options_);
        if (key.target != "collective" || std::ranges::find(asked, collectives::parse_collective(key.collective)) == asked.end()) return false;
        const std::vector<int>& ranks = options_.ranks.values;
        if (options_.ranks_given && std::ranges::find(ranks, key.ranks) == ranks.end()) return false;
        if (options_.transport_named && key.transport != options_.transport) return false;
        if (options_.in_place != "both" && key.in_place != (options_.in_place == "yes")) return false;
        return wanted_type(key);
    }

    // Rows that move bytes are for every type, those without an operator for every operator.
    bool wanted_type(const core::Key& key) const {
        const auto type = [&](const std::string& word) { return word == "all" || core::name_of(core::parse_dtype(word)) == key.dtype_class; };
        const auto op = [&](const std::string& word) { return word == "all" || core::name_of(core::parse_op(word)) == key.op; };
        if (options_.dtypes_given && key.dtype_class != "bytes" && std::ranges::none_of(options_.dtypes, type)) return false;
        return !options_.ops_given || key.op == "none" || std::ranges::any_of(options_.ops, op);
    }

    void add_end(const db::ReleaseRow& row, std::uint64_t bytes) {
        const core::Key& key = row.row.key;
        const std::optional<Problem> problem = problem_at(options_, row.row, bytes);
        if (!problem) return skip(row, "no whole number of elements lies within it");
        const collectives::ChooserFacts facts{.transport = key.transport, .node_map = key.node_map, .binding = key.binding, .topology = machine_.topology};
        const collectives::Choice standard = collectives::Chooser(facts, {}, {}).choose(*problem);
        const collectives::Choice choice = collectives::Chooser(facts, machine_.loaded.table, {}).choose(*problem);
        if (choice.source != collectives::ChoiceSource::tuned) return skip(row, without_number(choice.reason));
        Pair pair;
        pair.key = key.text();
        pair.problem = *problem;
        pair.team = team_options(options_, key.ranks);
        pair.team.transport = key.transport;
        pair.team.node_map = key.node_map;
        pair.team.bind = key.binding == "bound";
        pair.default_config = standard.config;
        pair.tuned_config = choice.config;
        pair.published_gain = row.row.gain;
        result.pairs.push_back(std::move(pair));
    }

    const Options& options_;
    const Machine& machine_;
    std::string last_skipped_;
};

Pair sweep_pair(const Options& options, const Machine& machine, const Problem& problem) {
    const collectives::ChooserFacts facts = facts_of(machine, options, problem.ranks);
    Pair pair;
    pair.key = collectives::key_of(problem, facts).text();
    pair.problem = problem;
    pair.team = team_options(options, problem.ranks);
    pair.default_config = choice_of_side(options.compare.front(), problem, machine, facts).config;
    const collectives::Choice choice = choice_of_side(options.compare.back(), problem, machine, facts);
    pair.tuned_config = choice.config;
    pair.published_gain = choice.gain;
    return pair;
}

}  // namespace

Pairs pairs_of_sweep(const Options& options, const Machine& machine) {
    Pairs result;
    for (const int ranks : options.ranks.values) {
        for (Problem problem : problems_of(options, ranks)) {
            for (const bool in_place : forms_of(options, problem)) {
                problem.in_place = in_place;
                result.pairs.push_back(sweep_pair(options, machine, problem));
            }
        }
    }
    return result;
}

Pairs pairs_of_rows(const Options& options, const Machine& machine) {
    RowPairs rows(options, machine);
    for (const db::ReleaseRow& row : machine.loaded.rows)
        rows.add(row);
    return std::move(rows.result);
}

}  // namespace attune::tools::bench
