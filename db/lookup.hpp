// Which files a job reads, and the one table that comes out of them.
#pragma once

#include "db/release.hpp"
#include "libcore/environment.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace attune::db {

enum class Mode : std::uint8_t { use, off, require };
std::string_view name_of(Mode mode) noexcept;
Mode parse_mode(std::string_view text);  // throws Error(usage) naming the nearest

// The weakest match that may be applied (ATTUNE_DB_MIN_GRADE): any size of a proven interval, or only its two measured ends.
enum class Grade : std::uint8_t { interval, exact };
Grade parse_grade(std::string_view text);  // throws Error(usage) naming the nearest, or saying that a word is not offered yet

// Why a row cannot be used now, or nothing. The database knows no algorithm; who does passes this in.
using Usable = std::function<std::optional<std::string>(const core::TableRow&)>;

struct Rules {
    Mode mode = Mode::use;
    Grade grade = Grade::interval;
    Usable usable = {};      // empty: every row is
    Usable other_team = {};  // rows for another number of ranks, say: kept for sub-communicators without a word, but they do not satisfy `require`
};

// Mode and grade of ATTUNE_DB_MODE and ATTUNE_DB_MIN_GRADE; a `mode` that is not empty beats the variable. Throws Error(usage) for a wrong word.
Rules rules_of(const core::Environment& environment, const std::string& mode = {});

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
    std::size_t rows = 0;             // of this identity and usable
    std::optional<Identity> nearest;  // of the machines stored there, the one with the fewest differences
    std::size_t skipped = 0;          // of this identity and not usable
    std::size_t other_team = 0;       // of these the ones of another team
    std::string skip_reason;          // of the first of them, of another team only when all are
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
// Earlier layers overlay later ones by problem: a later row of the same key keeps what of its interval is not covered. Rows that are not usable hide
// nothing; they fill what is left, so that a look-up can tell why they are skipped.
Loaded load(const std::vector<Layer>& layers, const Identity& identity, const Rules& rules);
inline Loaded load(const std::vector<Layer>& layers, const Identity& identity, Mode mode) {
    return load(layers, identity, Rules{mode, Grade::interval, {}});
}
// "3 of 5 rows of FILE skipped: reason", for each layer with skipped rows; those of another team are not spoken of.
std::vector<std::string> skip_notices(const Loaded& loaded);

}  // namespace attune::db
