// Which files a job reads, and the one table that comes out of them.
#pragma once

#include "db/release.hpp"
#include "libcore/environment.hpp"

#include <optional>
#include <string>
#include <vector>

namespace attune::db {

enum class Mode : std::uint8_t { use, off, require };
Mode parse_mode(std::string_view text);  // throws Error(usage) naming the nearest

struct Layer {
    std::string name;  // "explicit", "job", "user", "site", "system"
    std::string path;
    bool named = false;  // a missing named file warns, a missing default path is silent
};
// `explicit_path` (--db or API) alone if given, else ATTUNE_DB's list alone, else the default paths.
std::vector<Layer> layers(const core::Environment& environment, const std::string& explicit_path);

struct LayerState {
    Layer layer;
    std::string state;                // "used", "missing", "damaged", "other machine"
    std::string reason;               // for humans
    std::size_t rows = 0;             // applicable to this identity
    std::optional<Identity> nearest;  // of the machines stored there, the one with the fewest differences
};

// Never throws for a bad file. In mode `require` fatal_code is 4 when a file was damaged, 3 when no applicable row exists.
struct Loaded {
    core::ConfigTable table;
    std::vector<ReleaseRow> rows;         // the same rows with their evidence
    std::vector<std::size_t> row_layers;  // the layer each of them comes from
    std::vector<LayerState> layers;
    std::vector<std::string> warnings;  // at most one line per layer, naming file and reason
    std::string origin;                 // files used, comma separated
    int fatal_code = 0;
    std::string fatal_message;
};
// Earlier layers overlay later ones by problem (key and overlapping interval).
Loaded load(const std::vector<Layer>& layers, const Identity& identity, Mode mode);

}  // namespace attune::db
