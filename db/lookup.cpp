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

std::string other_machine_reason(const ReleaseContent& content, const Identity& current) {
    const Identity* nearest = nearest_identity(content.identities, current);
    if (nearest == nullptr) return "holds no machine at all";
    return "tuned on another machine: " + differing_fields(*nearest, current);
}

// An earlier row wins over a later one of the same key whose interval overlaps.
bool covered(const std::vector<ReleaseRow>& rows, const core::TableRow& row) {
    return std::ranges::any_of(rows, [&row](const ReleaseRow& earlier) {
        return earlier.row.key == row.key && earlier.row.low_bytes <= row.high_bytes && row.low_bytes <= earlier.row.high_bytes;
    });
}

std::size_t overlay(std::vector<ReleaseRow>& rows, const ReleaseContent& content, const Identity& identity) {
    std::vector<ReleaseRow> added;
    std::size_t own = 0;
    for (const ReleaseRow& row : content.rows) {
        if (row.identity != identity) continue;
        ++own;
        if (!covered(rows, row.row)) added.push_back(row);
    }
    std::ranges::move(added, std::back_inserter(rows));
    return own;
}

LayerState read_layer(const Layer& layer, const Identity& identity, std::vector<ReleaseRow>& rows) try {
    const ReleaseContent content = read_release(layer.path);
    LayerState state{layer, "used", {}, overlay(rows, content, identity)};
    const bool known = std::ranges::find(content.identities, identity) != content.identities.end();
    if (!known) {
        state.state = "other machine";
        state.reason = other_machine_reason(content, identity);
    } else if (state.rows == 0) {
        state.reason = "tuned on this machine, nothing was proven faster than the default";
    } else {
        state.reason = std::to_string(state.rows) + (state.rows == 1 ? " row" : " rows") + " for this machine, tuned " + content.utc;
    }
    return state;
} catch (const ReleaseError& error) {
    return {layer, error.kind() == ReleaseError::Kind::missing ? "missing" : "damaged", error.reason(), 0};
} catch (const std::exception& error) {
    return {layer, "damaged", error.what(), 0};
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
    for (const Layer& layer : layers)
        loaded.layers.push_back(read_layer(layer, identity, loaded.rows));
    std::ranges::sort(loaded.rows, {}, [](const ReleaseRow& row) { return std::tuple(row.row.key.text(), row.row.low_bytes); });
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
