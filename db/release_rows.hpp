// Rows of a release to SQLite and back, every value checked for type and range.
#pragma once

#include "db/release.hpp"
#include "db/sqlite.hpp"

#include <string>
#include <string_view>

namespace attune::db {

inline constexpr std::size_t longest_text = 64 * 1024;

// Printable text: valid UTF-8 without control characters, at most longest_text bytes.
bool is_clean_text(std::string_view text) noexcept;
std::string clean_text(std::string_view text);  // offending bytes become '?'
// Reads a column of text and checks it. Throws Error(check_failed).
std::string read_clean(Statement& query);

// 16 hex digits over everything the row says, its identity and its gains per class included.
std::string digest_of(const ReleaseRow& row);
// Throws Error(failure) when the row could not be read back: a value out of range, an unknown class.
void check_row(const ReleaseRow& row);

void insert_row(Database& database, std::int64_t id, std::int64_t identity, const ReleaseRow& row);
// Rows of all identities in order of id; `identities` are in order of their ids, from 1. Throws Error(check_failed).
std::vector<ReleaseRow> read_rows(Database& database, const std::vector<Identity>& identities);

}  // namespace attune::db
