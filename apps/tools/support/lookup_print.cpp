// How attune-lookup's answer looks, for people and as JSON.
#include "apps/tools/support/lookup_answer.hpp"

#include "apps/tools/support/database.hpp"
#include "apps/tools/support/row_text.hpp"
#include "apps/tools/support/table.hpp"
#include "libcore/units.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace attune::tools {

namespace {

const db::ReleaseRow* winner(const LookupAnswer& answer) {
    return answer.choice.row ? &answer.loaded.rows.at(*answer.choice.row) : nullptr;
}

const std::string& file_of(const LookupAnswer& answer, std::size_t row) {
    return answer.loaded.layers.at(answer.loaded.row_layers.at(row)).layer.path;
}

std::string question(const LookupAnswer& answer) {
    const collectives::Problem& problem = answer.query.problem;
    std::string text(name_of(problem.collective));
    const bool sized = problem.collective != collectives::Collective::barrier;
    const bool known = problem.key_bytes() != 0 || answer.query.asked_bytes == 0;
    if (sized && !known && collectives::has_amounts(problem.collective))
        text += " of any size (no rank knows the amounts of all)";
    else if (sized)
        text += " of " + core::format_bytes(problem.key_bytes());
    if (sized && known && problem.key_bytes() != answer.query.asked_bytes)
        text += fmt::format(" ({} bytes rounded down to whole elements)", answer.query.asked_bytes);
    text += fmt::format(" on {} ranks", problem.ranks);
    if (collectives::reduces(problem.collective)) text += fmt::format(", {} {}", core::name_of(problem.dtype), core::name_of(problem.op));
    if (collectives::is_rooted(problem.collective)) text += fmt::format(", root {}", problem.root);
    text += problem.in_place ? ", in place" : ", out of place";
    return text + fmt::format(", {}, {}", answer.query.transport, answer.query.binding);
}

std::string match_text(const LookupAnswer& answer) {
    if (const db::ReleaseRow* row = winner(answer)) return fmt::format("{}: proven for {}", answer.match, interval_text(row->row));
    if (answer.match != "nearest") return answer.match;
    const NearRow& near = answer.near.front();
    const core::TableRow& row = answer.loaded.rows.at(near.row).row;
    return fmt::format("nearest: a row for {}, distance {:.2f}, is shown but not used", interval_text(row), near.distance);
}

// The identity stored with the row that won, or else the nearest one of each layer, beside this machine's.
std::string identities_text(const LookupAnswer& answer) {
    if (const db::ReleaseRow* row = winner(answer)) return identity_text(row->identity, answer.identity, "identity of the row") + "\n";
    std::string out;
    for (const db::LayerState& state : answer.loaded.layers) {
        if (state.nearest) out += identity_text(*state.nearest, answer.identity, "identity in " + state.layer.path) + "\n";
    }
    if (!out.empty()) return out;
    Table table({{"identity", Align::left}, {"here", Align::left}});
    for (const auto& [name, value] : answer.identity.fields)
        table.add_row({name, value});
    return table.text() + "\n";
}

std::string layers_text(const LookupAnswer& answer) {
    if (answer.loaded.layers.empty()) return "No file was looked at.\n\n";
    Table table({{"layer", Align::left}, {"state", Align::left}, {"file", Align::left}, {"reason", Align::left}});
    for (const db::LayerState& state : answer.loaded.layers)
        table.add_row({state.layer.name, state.state, state.layer.path, state.reason});
    return table.text() + "\n";
}

std::string near_text(const LookupAnswer& answer) {
    if (answer.near.empty()) return {};
    Table table({{"other rows of this key (not used)", Align::left}, {"distance"}, {"gain"}, {"config", Align::left}, {"row", Align::left}});
    for (const NearRow& near : answer.near) {
        const db::ReleaseRow& row = answer.loaded.rows.at(near.row);
        table.add_row({interval_text(row.row), fmt::format("{:.2f}", near.distance), gain_text(row.row), row.row.config.text(), row.id});
    }
    return table.text() + "\n";
}

Json layer_json(const db::LayerState& state) {
    return {{"layer", state.layer.name}, {"file", state.layer.path}, {"state", state.state}, {"reason", state.reason}, {"rows", state.rows}};
}

Json query_json(const LookupAnswer& answer) {
    const collectives::Problem& problem = answer.query.problem;
    return {{"collective", name_of(problem.collective)},
            {"bytes", problem.bytes()},
            {"asked_bytes", answer.query.asked_bytes},
            {"count", problem.count},
            {"dtype", core::name_of(problem.dtype)},
            {"op", collectives::reduces(problem.collective) ? Json(core::name_of(problem.op)) : Json(nullptr)},
            {"root", collectives::is_rooted(problem.collective) ? Json(problem.root) : Json(nullptr)},
            {"ranks", problem.ranks},
            {"node_map", problem.node_map},
            {"in_place", problem.in_place},
            {"transport", answer.query.transport},
            {"binding", answer.query.binding},
            {"key", answer.key}};
}

Json near_json(const LookupAnswer& answer) {
    Json out = Json::array();
    for (const NearRow& near : answer.near) {
        const db::ReleaseRow& row = answer.loaded.rows.at(near.row);
        out.push_back({{"row", row.id},
                       {"low_bytes", row.row.low_bytes},
                       {"high_bytes", row.row.high_bytes},
                       {"config", row.row.config.text()},
                       {"gain", row.row.gain},
                       {"distance", near.distance}});
    }
    return out;
}

}  // namespace

Json lookup_json(const LookupAnswer& answer, const core::Topology& topology) {
    const db::ReleaseRow* row = winner(answer);
    Json document = json_document("attune.lookup/1", topology);
    document["query"] = query_json(answer);
    document["config"] = answer.choice.config.text();
    document["source"] = name_of(answer.choice.source);
    document["proven"] = row != nullptr;
    document["match"] = answer.match;
    document["distance"] = json_number(answer.distance);
    document["gain"] = row != nullptr ? Json(answer.choice.gain) : Json(nullptr);
    document["evidence"] = row != nullptr ? evidence_json(*row) : Json(nullptr);
    document["file"] = row != nullptr ? Json(file_of(answer, *answer.choice.row)) : Json(nullptr);
    document["reason"] = answer.choice.reason;
    document["layers"] = Json::array();
    for (const db::LayerState& state : answer.loaded.layers)
        document["layers"].push_back(layer_json(state));
    document["nearby"] = near_json(answer);
    document["tune_command"] = answer.tune_command.empty() ? Json(nullptr) : Json(answer.tune_command);
    return document;
}

std::string lookup_text(const LookupAnswer& answer) {
    std::string out = question(answer) + "\n";
    const auto line = [&out](const char* name, const std::string& value) { out += fmt::format("  {:<9} {}\n", name, value); };
    line("config", answer.choice.config.text());
    line("source", std::string(name_of(answer.choice.source)));
    line("match", match_text(answer));
    if (const db::ReleaseRow* row = winner(answer)) {
        const core::TableRow& choice = row->row;
        line("gain", fmt::format("{} over the default ({} -> {})", gain_text(choice), core::format_time_us(choice.default_ns / 1000),
                                 core::format_time_us(choice.best_ns / 1000)));
        line("evidence", evidence_text(row->evidence));
        line("row", row->id + " in " + file_of(answer, *answer.choice.row));
    }
    line("why", answer.choice.reason);
    return out;
}

std::string explain_text(const LookupAnswer& answer) {
    return "\nkey: " + answer.key + "\n\n" + layers_text(answer) + identities_text(answer) + near_text(answer) +
           (answer.tune_command.empty() ? answer.tune_advice() : "To tune this problem: " + answer.tune_command) + "\n";
}

}  // namespace attune::tools
