// The exact schemas of journal and release, and the constants that say which file is which (docs/database-format.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attune::db {

class Database;

inline constexpr std::int64_t release_application_id = 0x41545452;  // "ATTR"
inline constexpr std::int64_t journal_application_id = 0x4154544a;  // "ATTJ"
inline constexpr std::int64_t schema_version = 1;                   // PRAGMA user_version of both

// CREATE statements as SQLite stores them.
std::string_view release_schema() noexcept;
std::string_view journal_schema() noexcept;

// (name, type + table + SQL) of every object in sqlite_schema, sorted by name.
using SchemaText = std::vector<std::pair<std::string, std::string>>;
SchemaText stored_schema(Database& database);
// Throws Error(check_failed) naming the first object that is missing, added or different from what `schema` creates.
void require_schema(Database& database, std::string_view schema);

}  // namespace attune::db
