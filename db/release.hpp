// The sealed database that jobs read: SQLite plus a 64-byte footer with a SHA-256 over everything before it. Never edited in place.
#pragma once

#include "db/fingerprint.hpp"
#include "db/journal.hpp"
#include "libcore/config_table.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace attune::db {

struct ClassGain {
    std::string placement;  // "c0".."c3", "oversubscribed"
    std::uint64_t blocks = 0;
    double ratio = 1;  // default / tuned
    double low = 1, high = 1;
};

// What stands behind a row, beside the choice itself.
struct Evidence {
    std::uint64_t launches = 0;
    std::uint64_t blocks = 0;
    double floor = 0;  // noise floor, a fraction
    double p_value = 1;
    std::uint64_t candidates = 0;  // tried for this problem
    bool complete = false;         // the search of this problem tried every candidate
    std::string verification;      // "exact"
    std::string run;               // tuning run
    std::string utc;
    std::string cut_set;
    std::vector<ClassGain> classes;
};

struct ReleaseRow {
    std::string id;  // digest of the row, 16 hex digits
    Identity identity;
    core::TableRow row;
    Evidence evidence;
};

struct ReleaseContent {
    std::vector<Identity> identities;  // also those with zero rows
    std::vector<ReleaseRow> rows;
    std::vector<CutSet> cuts;
    std::vector<std::pair<std::string, std::string>> context;
    std::string utc;
    std::string tool_version;
};

// What may lie where a release is written: nothing, an empty file, a release of this format, sound or damaged. Throws Error(usage) for anything else (a
// link, a folder, a journal, a text file) and Error(failure) for a release that is newer or cannot be read: path and remedy.
void require_replaceable(const std::string& path);

// Builds beside `path`, checks, seals, renames over it; rows of other identities in an existing valid release at `path` are kept. The old file is kept as
// "<path>.previous". A damaged release at `path` is kept as "<path>.damaged". Returns notices for the user, one line each. Throws like
// require_replaceable(), Error(failure) (disk full, read-only, not writable: path and remedy) or Error(busy), and leaves the old file untouched.
// `merge` adds what of a valid release there stays beside the new content; it runs while no other writer can, so two publications never lose each
// other's rows.
using Merge = std::function<void(ReleaseContent& content, const ReleaseContent& existing)>;
std::vector<std::string> write_release(const std::string& path, ReleaseContent content, const Merge& merge = {});

// Opens with O_NOFOLLOW, reads whole (<= 256 MiB), verifies footer and digest, then the bytes go to sqlite3_deserialize read-only.
// Throws Error: not_found (no such file), check_failed (truncated, digest mismatch, newer format, views or triggers in place of tables,
// wrong types, row digests, blob different from the rows): file and reason.
ReleaseContent read_release(const std::string& path);
// Whether the file says of itself, at either end, that it is a release, sound or damaged; false for anything that cannot be read.
bool is_release(const std::string& path);
// The flat table of one identity, equal byte for byte to the stored blob (read_release() compares them); empty when the identity is absent.
core::ConfigTable table_for(const ReleaseContent& content, const Identity& identity);

}  // namespace attune::db
