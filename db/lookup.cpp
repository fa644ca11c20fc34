#include "db/lookup.hpp"

#include "db/one_line.hpp"
#include "db/footer.hpp"
#include "db/overlay.hpp"
#include "libcore/error.hpp"
#include "libcore/text.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace attune::db {

namespace {

// Designed, not built: it would tune while the job runs.
constexpr std::string_view later_mode = "refine";

constexpr std::array<std::string_view, 3> mode_names = {"use", "off", "require"};  // in the order of the enum

// "l3_bytes is 33554432 there and 16777216 here, ..."
std::string differing_fields(const Identity& stored, const Identity& current) {
    std::string out;
    for (const FieldDifference& field : differences(stored, current)) {
        if (!out.empty()) out += ", ";
        out += field.name + " is " + (field.stored.empty() ? "absent" : field.stored) + " there and " + (field.current.empty() ? "absent" : field.current) +
               " here";
    }
    return out;
}

// The stored identity with the fewest differences.
const Identity* nearest_identity(const std::vector<Identity>& stored, const Identity& current) {
    const auto distance = [&current](const Identity& identity) { return differences(identity, current).size(); };
    const auto nearest = std::ranges::min_element(stored, {}, distance);
    return nearest == stored.end() ? nullptr : &*nearest;
}

// Rows of one layer for this identity, as the grade allows them.
struct Found {
    std::vector<ReleaseRow> usable, skipped;
};

// With the grade `exact` a row stands for the two sizes it was measured at.
std::vector<ReleaseRow> graded(const ReleaseRow& row, Grade grade) {
    if (grade == Grade::interval || row.row.low_bytes == row.row.high_bytes) return {row};
    std::vector<ReleaseRow> ends = {row, row};
    ends[0].row.high_bytes = row.row.low_bytes;
    ends[1].row.low_bytes = row.row.high_bytes;
    return ends;
}

void sort_out(Found& found, LayerState& state, const ReleaseRow& row, const Rules& rules) {
    const std::optional<std::string> other_team = rules.other_team ? rules.other_team(row.row) : std::nullopt;
    const std::optional<std::string> reason = other_team ? other_team : rules.usable ? rules.usable(row.row) : std::nullopt;
    const bool tells_more = !other_team && state.other_team == state.skipped;
    if (reason && (state.skipped == 0 || tells_more)) state.skip_reason = *reason;
    ++(reason ? state.skipped : state.rows);
    state.other_team += other_team ? 1 : 0;
    std::ranges::move(graded(row, rules.grade), std::back_inserter(reason ? found.skipped : found.usable));
}

std::string counted(std::size_t rows) {
    return std::to_string(rows) + (rows == 1 ? " row" : " rows");
}

std::string skipped_text(const LayerState& state, const std::string& of) {
    return std::to_string(state.skipped) + " of " + counted(state.rows + state.skipped) + of + " skipped: " + state.skip_reason;
}

void judge(LayerState& state, const ReleaseContent& content, const Identity& current) {
    const Identity* nearest = nearest_identity(content.identities, current);
    if (nearest == nullptr || *nearest != current) {
        state.state = "other machine";
        state.reason = nearest == nullptr ? "holds no machine at all" : "tuned on another machine: " + differing_fields(*nearest, current);
    } else if (state.rows + state.skipped == 0) {
        state.reason = "tuned on this machine, nothing was proven faster than the default";
    } else {
        state.reason = counted(state.rows + state.skipped) + " for this machine, tuned " + content.utc;
        if (state.skipped > 0) state.reason += "; " + skipped_text(state, "");
    }
    if (nearest != nullptr) state.nearest = *nearest;
}

LayerState unread(const Layer& layer, const std::string& state, const std::string& reason) {
    LayerState out;
    out.layer = layer;
    out.state = state;
    out.reason = reason;
    return out;
}

// Leaves `found` as it was when the file cannot be read.
LayerState read_layer(const Layer& layer, const Identity& identity, const Rules& rules, Found& found) try {
    const ReleaseContent content = read_release(layer.path);
    LayerState state = unread(layer, "used", {});
    for (const ReleaseRow& row : content.rows)
        if (row.identity == identity) sort_out(found, state, row, rules);
    judge(state, content, identity);
    return state;
} catch (const ReleaseError& error) {
    return unread(layer, error.kind() == ReleaseError::Kind::missing ? "missing" : "damaged", error.reason());
} catch (const std::exception& error) {
    return unread(layer, "damaged", one_line(error.what()));
}

// Silent: what is used, and a default path where nothing is. A default path of another machine matters only when nothing else was found.
bool deserves_warning(const LayerState& state, bool rows_found) {
    if (state.state == "damaged") return true;
    if (state.state == "missing") return state.layer.named;
    if (state.state == "other machine") return state.layer.named || !rows_found;
    return false;
}

void judge_requirement(Loaded& loaded) {
    const auto damaged = std::ranges::find(loaded.layers, "damaged", &LayerState::state);
    if (damaged != loaded.layers.end()) {
        loaded.fatal_code = 4;
        loaded.fatal_message = one_line(damaged->layer.path) + ": " + damaged->reason + " (and a database is required)";
    } else if (std::ranges::all_of(loaded.layers, [](const LayerState& state) { return state.rows == 0; })) {
        loaded.fatal_code = 3;
        loaded.fatal_message = "no applicable row in any tuning database, and one is required (by ATTUNE_DB_MODE=require, or by the program): run attune-tune";
        for (const LayerState& state : loaded.layers)
            loaded.fatal_message += "; " + one_line(state.layer.path) + ": " + state.reason;
    }
}

std::vector<Layer> named_layers(const std::string& list, const std::string& name) {
    std::vector<Layer> out;
    for (const std::string& path : core::split(list, ':')) {
        if (!path.empty()) out.push_back({name, path, true});
    }
    return out;
}

}  // namespace

std::string_view name_of(Mode mode) noexcept {
    return mode_names[static_cast<std::size_t>(mode)];
}

Mode parse_mode(std::string_view text) {
    static const std::vector<std::string> names(mode_names.begin(), mode_names.end());
    if (text == later_mode)
        throw core::Error(core::ErrorCode::usage,
                          "database mode 'refine' is not offered yet: it would tune while the job runs; choose use, off or require, "
                          "or call Communicator::tune()");
    const std::string word = core::require_word("database mode", text, names);
    return static_cast<Mode>(std::ranges::find(names, word) - names.begin());
}

Rules rules_of(const core::Environment& environment, const std::string& mode) {
    Rules rules;
    const auto of_variable = [&environment] { return parse_mode(environment.db_mode.value_or("use")); };
    rules.mode = mode.empty() ? core::meaning_of("ATTUNE_DB_MODE", of_variable) : parse_mode(mode);
    rules.grade = parse_grade(environment.min_grade.value_or("interval"));
    return rules;
}

std::vector<Layer> layers(const core::Environment& environment, const std::string& explicit_path) {
    if (!explicit_path.empty()) return {{"explicit", explicit_path, true}};
    if (environment.db) return named_layers(*environment.db, "job");
    // The user's path is left out when unknown, so names are given from the end.
    constexpr std::array<const char*, 3> names = {"user", "site", "system"};
    const std::vector<std::string> paths = core::default_database_paths(environment);
    std::vector<Layer> out;
    for (std::size_t i = 0; i < paths.size(); ++i) {
        const std::size_t from_end = paths.size() - i;
        out.push_back({names[from_end > names.size() ? 0 : names.size() - from_end], paths[i], false});
    }
    return out;
}

Grade parse_grade(std::string_view text) {
    static const std::vector<std::string> offered = {"exact", "interval"}, later = {"nearest", "family", "model"};
    if (std::ranges::find(later, text) != later.end())
        throw core::Error(core::ErrorCode::usage, "ATTUNE_DB_MIN_GRADE='" + std::string(text) + "' is not offered yet; use exact or interval");
    return core::require_word("ATTUNE_DB_MIN_GRADE", text, offered) == "exact" ? Grade::exact : Grade::interval;
}

Loaded load(const std::vector<Layer>& layers, const Identity& identity, const Rules& rules) {
    Loaded loaded;
    if (rules.mode == Mode::off) return loaded;
    Overlay overlay;
    std::vector<PlacedRow> skipped;
    for (const Layer& layer : layers) {
        Found found;
        loaded.layers.push_back(read_layer(layer, identity, rules, found));
        const std::size_t index = loaded.layers.size() - 1;
        for (const ReleaseRow& row : found.usable)
            overlay.add(row, index);
        for (ReleaseRow& row : found.skipped)
            skipped.push_back({std::move(row), index});
    }
    for (const PlacedRow& placed : skipped)
        overlay.add(placed.row, placed.layer);
    std::vector<core::TableRow> rows;
    for (PlacedRow& placed : std::move(overlay).take()) {
        rows.push_back(placed.row.row);
        loaded.rows.push_back(std::move(placed.row));
        loaded.row_layers.push_back(placed.layer);
    }
    loaded.table = core::ConfigTable::build(std::move(rows));
    for (const LayerState& state : loaded.layers) {
        if (deserves_warning(state, !loaded.rows.empty())) loaded.warnings.push_back(one_line(state.layer.path) + ": " + state.reason + "; not used");
        if (state.rows > 0) loaded.origin += (loaded.origin.empty() ? "" : ", ") + state.layer.path;
    }
    if (rules.mode == Mode::require) judge_requirement(loaded);
    return loaded;
}

namespace {

std::string notice(LayerState state) {
    state.skipped -= state.other_team;
    return skipped_text(state, " of " + one_line(state.layer.path));
}

}  // namespace

std::vector<std::string> skip_notices(const Loaded& loaded) {
    std::vector<std::string> lines;
    for (const LayerState& state : loaded.layers)
        if (state.skipped > state.other_team) lines.push_back(notice(state));
    return lines;
}

}  // namespace attune::db
