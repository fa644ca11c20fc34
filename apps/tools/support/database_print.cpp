// How attune-db's answers look, for people and as JSON.
#include "apps/tools/support/database.hpp"

#include "apps/tools/support/lookup_answer.hpp"
#include "apps/tools/support/row_text.hpp"
#include "apps/tools/support/table.hpp"
#include "libcore/error.hpp"
#include "libcore/file.hpp"
#include "libcore/units.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace attune::tools {

namespace {

FileCheck journal_check(const DatabaseView& view) {
    constexpr int missing = static_cast<int>(core::ErrorCode::not_found);
    if (!view.target) return {"", "journal", missing, "no place for it: neither XDG_DATA_HOME nor HOME is an absolute path", 0};
    if (!core::file_exists(view.target->journal)) return {view.target->journal, "journal", missing, "no such file", 0};
    return check_journal(view.target->journal);
}

// As a job treats the file.
struct Treatment {
    std::string state, reason;
};
Treatment treatment_of(const DatabaseView& view, const db::LayerState& layer) {
    if (!view.switched_off || layer.state != "used") return {layer.state, layer.reason};
    return {"switched off", "ATTUNE_DB_MODE=off; " + layer.reason};
}

std::string state_of(const FileCheck& check) {
    if (check.code == 0) return "present";
    return check.code == 3 ? "missing" : "damaged";
}

std::string type_text(const core::Key& key) {
    return key.op == "none" ? key.dtype_class : key.dtype_class + " " + key.op;
}

// What tells rows of one collective apart, as far as it is not the usual.
std::string details_text(const core::Key& key) {
    std::string out = key.transport + (key.in_place ? " in place" : "");
    if (key.root_class != "none" && key.root_class != "any") out += " root " + key.root_class;
    if (key.binding != "bound") out += " " + key.binding;
    if (key.buffers != "ordinary") out += " " + key.buffers;
    return out;
}

std::string row_text(const ListedRow& listed, const db::Identity& current) {
    const core::TableRow& row = listed.row.row;
    std::string out;
    const auto line = [&out](const char* name, const std::string& value) { out += fmt::format("{:<11} {}\n", name, value); };
    line("row", listed.row.id + " in " + listed.file);
    line("key", row.key.text());
    line("bytes", interval_text(row));
    line("config", row.config.text());
    line("default", fmt::format("{} (version {})", row.default_config.text(), row.default_version));
    line("algorithm", fmt::format("version {}, {}", row.algorithm_version, row.instruction_set));
    line("time", core::format_time_us(row.default_ns / 1000) + " -> " + core::format_time_us(row.best_ns / 1000));
    line("gain", gain_text(row) + " (default / tuned, 99 % interval)");
    line("evidence", evidence_text(listed.row.evidence));
    line("run", listed.row.evidence.run);
    Table classes({{"placement class", Align::left}, {"blocks"}, {"gain"}});
    for (const db::ClassGain& gain : listed.row.evidence.classes)
        classes.add_row({gain.placement, std::to_string(gain.blocks), gain_text(gain.ratio, gain.low, gain.high)});
    return out + "\n" + classes.text() + "\n" + identity_text(listed.row.identity, current, "identity");
}

Json row_json(const ListedRow& listed) {
    const core::TableRow& row = listed.row.row;
    return {{"row", listed.row.id},
            {"file", listed.file},
            {"here", listed.here},
            {"key", row.key.text()},
            {"collective", row.key.collective},
            {"ranks", row.key.ranks},
            {"low_bytes", row.low_bytes},
            {"high_bytes", row.high_bytes},
            {"config", row.config.text()},
            {"gain", row.gain},
            {"ci_low", row.gain_low},
            {"ci_high", row.gain_high},
            {"launches", listed.row.evidence.launches},
            {"blocks", listed.row.evidence.blocks},
            {"utc", listed.row.evidence.utc}};
}

}  // namespace

std::string identity_text(const db::Identity& stored, const db::Identity& current, const std::string& title) {
    Table table({{title, Align::left}, {"stored", Align::left}, {"here", Align::left}, {"", Align::left}});
    const auto differing = db::differences(stored, current);
    const auto find = [](const db::Identity& identity, const std::string& name) {
        const auto found = std::ranges::find(identity.fields, name, &std::pair<std::string, std::string>::first);
        return found == identity.fields.end() ? std::string("absent") : found->second;
    };
    for (const auto& [name, value] : stored.fields) {
        const bool differs = std::ranges::find(differing, name, &db::FieldDifference::name) != differing.end();
        table.add_row({name, value, find(current, name), differs ? "<- differs" : ""});
    }
    for (const auto& [name, value] : current.fields)
        if (find(stored, name) == "absent") table.add_row({name, "absent", value, "<- differs"});
    return table.text();
}

std::string where_text(const DatabaseView& view) {
    Table table({{"layer", Align::left}, {"state", Align::left}, {"file", Align::left}, {"reason", Align::left}});
    for (const db::LayerState& layer : view.loaded.layers) {
        const auto [state, reason] = treatment_of(view, layer);
        table.add_row({layer.layer.name, state, layer.layer.path, reason});
    }
    const FileCheck journal = journal_check(view);
    table.add_rule();
    table.add_row({"journal", state_of(journal), journal.file, journal.reason});
    return table.text();
}

Json where_json(const DatabaseView& view) {
    Json document = json_document("attune.db_where/1", view.machine.topology);
    document["layers"] = Json::array();
    for (const db::LayerState& layer : view.loaded.layers) {
        const auto [state, reason] = treatment_of(view, layer);
        document["layers"].push_back({{"layer", layer.layer.name}, {"state", state}, {"file", layer.layer.path}, {"reason", reason}, {"rows", layer.rows}});
    }
    const FileCheck journal = journal_check(view);
    document["journal"] = {{"file", journal.file}, {"state", state_of(journal)}, {"reason", journal.reason}, {"trials", journal.rows}};
    document["release"] = view.target ? Json(view.target->release) : Json(nullptr);
    return document;
}

std::string list_text(const std::vector<ListedRow>& rows) {
    Table table({{"collective", Align::left},
                 {"ranks"},
                 {"type", Align::left},
                 {"where", Align::left},
                 {"bytes"},
                 {"gain"},
                 {"launches"},
                 {"blocks"},
                 {"date", Align::left},
                 {"row", Align::left},
                 {"config", Align::left}});
    constexpr std::size_t date_length = 10, id_length = 8;
    for (const ListedRow& listed : rows) {
        const core::TableRow& row = listed.row.row;
        const db::Evidence& evidence = listed.row.evidence;
        table.add_row({row.key.collective, std::to_string(row.key.ranks), type_text(row.key), details_text(row.key), interval_text(row), gain_text(row),
                       std::to_string(evidence.launches), std::to_string(evidence.blocks), evidence.utc.substr(0, date_length),
                       listed.row.id.substr(0, id_length) + (listed.here ? "" : " (other machine)"), row.config.text()});
    }
    return table.text();
}

Json list_json(const std::vector<ListedRow>& rows) {
    Json document = json_document("attune.db_list/1");
    document["rows"] = Json::array();
    for (const ListedRow& row : rows)
        document["rows"].push_back(row_json(row));
    return document;
}

std::string show_text(const std::vector<ListedRow>& rows, const db::Identity& current) {
    std::string out;
    for (const ListedRow& row : rows)
        out += (out.empty() ? "" : "\n") + row_text(row, current);
    return out;
}

Json show_json(const std::vector<ListedRow>& rows, const db::Identity& current) {
    Json document = json_document("attune.db_show/1");
    document["rows"] = Json::array();
    for (const ListedRow& listed : rows) {
        Json row = row_json(listed);
        row["evidence"] = evidence_json(listed.row);
        row["identity"] = Json::object();
        for (const auto& [name, value] : listed.row.identity.fields)
            row["identity"][name] = value;
        row["differences"] = Json::array();
        for (const db::FieldDifference& field : db::differences(listed.row.identity, current))
            row["differences"].push_back({{"field", field.name}, {"stored", field.stored}, {"here", field.current}});
        document["rows"].push_back(std::move(row));
    }
    return document;
}

Json verify_json(const std::vector<FileCheck>& checks) {
    Json document = json_document("attune.db_verify/1");
    document["files"] = Json::array();
    for (const FileCheck& check : checks)
        document["files"].push_back({{"file", check.file}, {"kind", check.kind}, {"ok", check.code == 0}, {"reason", check.reason}, {"rows", check.rows}});
    return document;
}

}  // namespace attune::tools
