#include "apps/tools/support/lookup_answer.hpp"

#include "libcore/error.hpp"
#include "libcore/text.hpp"
#include "libcore/units.hpp"
#include "tuner/ladder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace attune::tools {

namespace {

using collectives::Collective;
using collectives::Problem;

double distance_of(std::uint64_t bytes, const core::TableRow& row) {
    const auto log = [](std::uint64_t value) { return std::log2(static_cast<double>(std::max<std::uint64_t>(value, 1))); };
    const std::uint64_t end = bytes < row.low_bytes ? row.low_bytes : row.high_bytes;
    return std::abs(log(bytes) - log(end));
}

// Rows that the chooser would look at for another size: those of the key, and of the key with this very root.
std::vector<NearRow> rows_nearby(const Problem& problem, core::Key key, const core::ConfigTable& table) {
    std::vector<std::string> keys = {key.text()};
    if (collectives::is_rooted(problem.collective)) {
        key.root_class = std::to_string(problem.root);
        keys.push_back(key.text());
    }
    std::vector<NearRow> out;
    for (const std::string& text : keys) {
        const auto [first, last] = table.key_range(text);
        for (std::size_t index = first; index < last; ++index) {
            const core::TableRow row = table.row(index);
            const bool covers = row.low_bytes <= problem.bytes() && problem.bytes() <= row.high_bytes;
            if (!covers) out.push_back({index, distance_of(problem.bytes(), row)});
        }
    }
    std::ranges::sort(out, {}, &NearRow::distance);
    return out;
}

std::string tune_command(const LookupQuery& query, const LookupSources& sources) {
    const Problem& problem = query.problem;
    if (tuner::why_untunable(problem.collective)) return {};
    std::string command = fmt::format("attune-tune {} -n {}", name_of(problem.collective), problem.ranks);
    const std::string size = core::compact_bytes(query.asked_bytes);
    if (problem.collective != Collective::barrier) command += fmt::format(" -b {} -e {}", size, size);
    if (collectives::reduces(problem.collective)) command += fmt::format(" -d {} -o {}", core::name_of(problem.dtype), core::name_of(problem.op));
    const bool several = !problem.node_map.empty() && problem.node_map != fmt::format("1x{}", problem.ranks);
    if (query.transport != (several ? "mixed" : "shm")) command += " --transport " + query.transport;
    if (several) command += " --node-map " + problem.node_map;
    if (problem.in_place) command += " --in-place yes";
    // Without --db attune-tune takes the first file of ATTUNE_DB or the user's own, as the look-up does.
    if (!sources.layers.empty() && sources.layers.front().name == "explicit") command += " --db " + core::shell_word(sources.layers.front().path);
    return command;
}

// How attune-tune and attune-run start the ranks here.
std::string_view usual_binding(const Problem& problem, const core::Topology& topology) {
    return static_cast<std::size_t>(problem.ranks) <= topology.allowed.cpus.size() ? "bound" : "unbound";
}

collectives::ChooserFacts facts_of(const LookupQuery& query, const Machine& machine) {
    collectives::ChooserFacts facts;
    facts.transport = query.transport;
    facts.node_map = query.problem.node_map;
    facts.binding = query.binding.empty() ? usual_binding(query.problem, machine.topology) : query.binding;
    facts.topology = machine.topology;
    return facts;
}

void grade(LookupAnswer& answer) {
    answer.match = name_of(answer.choice.match);
    if (answer.choice.match != collectives::Match::none) {
        answer.distance = 0;
    } else if (!answer.near.empty() && answer.choice.source == collectives::ChoiceSource::standard) {
        answer.match = "nearest";
        answer.distance = answer.near.front().distance;
    }
}

}  // namespace

LookupAnswer look_up(const LookupQuery& query, const Machine& machine, const LookupSources& sources) {
    LookupAnswer answer;
    answer.query = query;
    answer.identity = machine.identity;
    answer.mode = sources.rules.mode;
    answer.loaded = db::load(sources.layers, machine.identity, sources.rules);
    const collectives::ChooserFacts facts = facts_of(query, machine);
    answer.query.binding = facts.binding;
    answer.usual_binding = usual_binding(query.problem, machine.topology);
    if (facts.binding == answer.usual_binding) answer.tune_command = tune_command(query, sources);
    const core::Key key = collectives::key_of(query.problem, facts);
    answer.key = key.text();
    const collectives::Chooser chooser(facts, answer.loaded.table, collectives::ForcedChoices::parse(sources.forced));
    answer.choice = chooser.choose(query.problem);
    answer.near = rows_nearby(query.problem, key, answer.loaded.table);
    if (sources.rules.mode == db::Mode::off) answer.choice.reason = "the database is switched off (ATTUNE_DB_MODE=off)";
    grade(answer);
    return answer;
}

int LookupAnswer::exit_code() const {
    if (mode != db::Mode::require) return 0;
    if (loaded.fatal_code != 0) return loaded.fatal_code;
    return choice.source == collectives::ChoiceSource::standard ? static_cast<int>(core::ErrorCode::not_found) : 0;
}

std::string LookupAnswer::message() const {
    if (loaded.fatal_code != 0) return loaded.fatal_message;
    return "no applicable row for " + key + ": " + choice.reason + "; " + tune_advice();
}

std::string LookupAnswer::tune_advice() const {
    if (const auto why = tuner::why_untunable(query.problem.collective)) return *why;
    if (query.binding != usual_binding)
        return fmt::format("attune-tune measures {} ranks {} on this machine, so there is no row for {} ones", query.problem.ranks, usual_binding,
                           query.binding);
    return "tune it with: " + tune_command;
}

}  // namespace attune::tools
