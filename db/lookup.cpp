#include "db/lookup.hpp"

#include "db/footer.hpp"
#include "libcore/error.hpp"
#include "libcore/text.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <tuple>

namespace attune::db {

namespace {

constexpr std::array modes = {Mode::use, Mode::off, Mode::require};

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

// A row and the layer it comes from.
using Found = std::pair<ReleaseRow, std::size_t>;

// An earlier row wins over a later one of the same key whose interval overlaps.
bool covered(const std::vector<Found>& rows, const core::TableRow& row) {
    return std::ranges::any_of(rows, [&row](const Found& earlier) {
        const core::TableRow& held = earlier.first.row;
        return held.key == row.key && held.low_bytes <= row.high_bytes && row.low_bytes <= held.high_bytes;
    });
}

std::size_t overlay(std::vector<Found>& rows, const ReleaseContent& content, const Identity& identity, std::size_t layer) {
    std::vector<Found> added;
    std::size_t own = 0;
    for (const ReleaseRow& row : content.rows) {
        if (row.identity != identity) continue;
        ++own;
        if (!covered(rows, row.row)) added.emplace_back(row, layer);
    }
    std::ranges::move(added, std::back_inserter(rows));
    return own;
}

void judge(LayerState& state, const ReleaseContent& content, const Identity& current) {
    const Identity* nearest = nearest_identity(content.identities, current);
    if (nearest == nullptr || *nearest != current) {
        state.state = "other machine";
        state.reason = nearest == nullptr ? "holds no machine at all" : "tuned on another machine: " + differing_fields(*nearest, current);
    } else if (state.rows == 0) {
        state.reason = "tuned on this machine, nothing was proven faster than the default";
    } else {
        state.reason = std::to_string(state.rows) + (state.rows == 1 ? " row" : " rows") + " for this machine, tuned " + content.utc;
    }
    if (nearest != nullptr) state.nearest = *nearest;
}

LayerState read_layer(const Layer& layer, const Identity& identity, std::vector<Found>& rows, std::size_t index) try {
    const ReleaseContent content = read_release(layer.path);
    LayerState state{layer, "used", {}, overlay(rows, content, identity, index), {}};
    judge(state, content, identity);
    return state;
} catch (const ReleaseError& error) {
    return {layer, error.kind() == ReleaseError::Kind::missing ? "missing" : "damaged", error.reason(), 0, {}};
} catch (const std::exception& error) {
    return {layer, "damaged", error.what(), 0, {}};
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
        loaded.fatal_message = damaged->layer.path + ": " + damaged->reason + " (ATTUNE_DB_MODE=require)";
    } else if (loaded.rows.empty()) {
        loaded.fatal_code = 3;
        loaded.fatal_message = "no applicable row in any tuning database (ATTUNE_DB_MODE=require): run attune-tune, or unset it";
        for (const LayerState& state : loaded.layers)
            loaded.fatal_message += "; " + state.layer.path + ": " + state.reason;
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

Mode parse_mode(std::string_view text) {
    static const std::vector<std::string> names = {"use", "off", "require"};
    const std::string word = core::require_word("database mode", text, names);
    return modes[static_cast<std::size_t>(std::ranges::find(names, word) - names.begin())];
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

Loaded load(const std::vector<Layer>& layers, const Identity& identity, Mode mode) {
    Loaded loaded;
    if (mode == Mode::off) return loaded;
    std::vector<Found> found;
    for (const Layer& layer : layers)
        loaded.layers.push_back(read_layer(layer, identity, found, loaded.layers.size()));
    std::ranges::sort(found, {}, [](const Found& row) { return std::tuple(row.first.row.key.text(), row.first.row.low_bytes); });
    for (auto& [row, layer] : found) {
        loaded.rows.push_back(std::move(row));
        loaded.row_layers.push_back(layer);
    }
    for (const LayerState& state : loaded.layers) {
        if (deserves_warning(state, !loaded.rows.empty())) loaded.warnings.push_back(state.layer.path + ": " + state.reason + "; not used");
        if (state.rows > 0) loaded.origin += (loaded.origin.empty() ? "" : ", ") + state.layer.path;
    }
    std::vector<core::TableRow> rows;
    std::ranges::transform(loaded.rows, std::back_inserter(rows), &ReleaseRow::row);
    loaded.table = core::ConfigTable::build(std::move(rows));
    if (mode == Mode::require) judge_requirement(loaded);
    return loaded;
}

}  // namespace attune::db
