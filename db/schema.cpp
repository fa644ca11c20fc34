#include "db/schema.hpp"

#include "db/one_line.hpp"
#include "db/sqlite.hpp"
#include "libcore/error.hpp"
#include "libcore/text.hpp"

#include <algorithm>

namespace attune::db {

using core::Error;
using core::ErrorCode;

namespace {

constexpr std::string_view release_sql = R"(
CREATE TABLE meta(name TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE context(name TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE identity(id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, text TEXT NOT NULL) STRICT;
CREATE TABLE row(
    id INTEGER PRIMARY KEY,
    identity INTEGER NOT NULL REFERENCES identity(id),
    target TEXT NOT NULL,
    collective TEXT NOT NULL,
    dtype_class TEXT NOT NULL,
    op TEXT NOT NULL,
    ranks INTEGER NOT NULL CHECK(ranks >= 1),
    node_map TEXT NOT NULL,
    root_class TEXT NOT NULL,
    transport TEXT NOT NULL,
    in_place TEXT NOT NULL CHECK(in_place IN ('in', 'out')),
    buffers TEXT NOT NULL,
    determinism TEXT NOT NULL,
    objective TEXT NOT NULL,
    binding TEXT NOT NULL CHECK(binding IN ('bound', 'unbound')),
    low_bytes INTEGER NOT NULL CHECK(low_bytes >= 0),
    high_bytes INTEGER NOT NULL CHECK(high_bytes >= low_bytes),
    config TEXT NOT NULL,
    default_config TEXT NOT NULL,
    default_version INTEGER NOT NULL CHECK(default_version >= 0),
    algorithm_version INTEGER NOT NULL CHECK(algorithm_version >= 0),
    instruction_set TEXT NOT NULL,
    default_ns REAL NOT NULL,
    best_ns REAL NOT NULL,
    gain REAL NOT NULL,
    gain_low REAL NOT NULL,
    gain_high REAL NOT NULL,
    launches INTEGER NOT NULL CHECK(launches >= 0),
    blocks INTEGER NOT NULL CHECK(blocks >= 0),
    floor REAL NOT NULL,
    p_value REAL NOT NULL,
    candidates INTEGER NOT NULL CHECK(candidates >= 0),
    complete INTEGER NOT NULL CHECK(complete IN (0, 1)),
    verification TEXT NOT NULL,
    run TEXT NOT NULL,
    utc TEXT NOT NULL,
    cut_set TEXT NOT NULL,
    digest TEXT NOT NULL UNIQUE
) STRICT;
CREATE TABLE row_gain(
    row INTEGER NOT NULL REFERENCES row(id),
    cut_set TEXT NOT NULL,
    class TEXT NOT NULL CHECK(class IN ('c0', 'c1', 'c2', 'c3', 'oversubscribed')),
    blocks INTEGER NOT NULL CHECK(blocks >= 0),
    ratio REAL NOT NULL,
    ci_low REAL NOT NULL,
    ci_high REAL NOT NULL,
    PRIMARY KEY(row, cut_set, class)
) STRICT, WITHOUT ROWID;
CREATE TABLE placement_cut(
    cut_set TEXT NOT NULL,
    class TEXT NOT NULL CHECK(class IN ('c0', 'c1', 'c2', 'c3')),
    upper_ns REAL NOT NULL,
    PRIMARY KEY(cut_set, class)
) STRICT, WITHOUT ROWID;
CREATE TABLE table_blob(identity INTEGER PRIMARY KEY REFERENCES identity(id), bytes BLOB NOT NULL, digest TEXT NOT NULL) STRICT;
)";

constexpr std::string_view journal_sql = R"(
CREATE TABLE identity(id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, text TEXT NOT NULL) STRICT;
CREATE TABLE context(
    identity INTEGER NOT NULL REFERENCES identity(id),
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY(identity, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE trial(
    id INTEGER PRIMARY KEY,
    identity INTEGER NOT NULL REFERENCES identity(id),
    run TEXT NOT NULL,
    phase TEXT NOT NULL,
    key TEXT NOT NULL,
    bytes INTEGER NOT NULL CHECK(bytes >= 0),
    config TEXT NOT NULL,
    default_config TEXT NOT NULL,
    default_version INTEGER NOT NULL CHECK(default_version >= 0),
    algorithm_version INTEGER NOT NULL CHECK(algorithm_version >= 0),
    outcome TEXT NOT NULL CHECK(outcome IN ('ok', 'wrong', 'failed', 'timeout', 'noisy')),
    message TEXT NOT NULL,
    launch TEXT NOT NULL,
    placement TEXT NOT NULL,
    round_trip_ns REAL NOT NULL,
    batch INTEGER NOT NULL CHECK(batch >= 0),
    default_ns BLOB NOT NULL,
    config_ns BLOB NOT NULL,
    ratio REAL NOT NULL,
    utc TEXT NOT NULL,
    digest INTEGER NOT NULL
) STRICT;
CREATE TABLE cut_set(
    sequence INTEGER PRIMARY KEY,
    identity INTEGER NOT NULL REFERENCES identity(id),
    id TEXT NOT NULL,
    upper_ns BLOB NOT NULL
) STRICT;
CREATE TABLE value(
    identity INTEGER NOT NULL REFERENCES identity(id),
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY(identity, name)
) STRICT, WITHOUT ROWID;
)";

}  // namespace

std::string_view release_schema() noexcept {
    return release_sql;
}

std::string_view journal_schema() noexcept {
    return journal_sql;
}

SchemaText stored_schema(Database& database) {
    SchemaText objects;
    Statement query(database, "SELECT name, type, tbl_name, ifnull(sql, '') FROM sqlite_schema ORDER BY name");
    while (query.step()) {
        std::string name = query.text();
        std::string what = query.text();
        what += '\n' + query.text();
        what += '\n' + query.text();
        objects.emplace_back(std::move(name), std::move(what));
    }
    return objects;
}

void require_schema(Database& database, std::string_view schema) {
    Database model = Database::in_memory("schema");
    model.execute(std::string(schema));
    const SchemaText expected = stored_schema(model);
    const SchemaText found = stored_schema(database);
    const auto [want, have] = std::ranges::mismatch(expected, found);
    if (want == expected.end() && have == found.end()) return;
    const std::string& name = have != found.end() && (want == expected.end() || have->first <= want->first) ? have->first : want->first;
    throw Error(ErrorCode::check_failed, one_line(database.name()) + ": schema differs at '" + core::printable(name, 40) + "'");
}

}  // namespace attune::db
