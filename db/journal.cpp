#include "db/journal.hpp"

#include "db/one_line.hpp"
#include "db/file_system.hpp"
#include "db/holder_lock.hpp"
#include "db/journal_rows.hpp"
#include "db/row_digest.hpp"
#include "db/schema.hpp"
#include "db/sqlite.hpp"
#include "libcore/error.hpp"
#include "libcore/file.hpp"

#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <set>

namespace attune::db {

using core::Error;
using core::ErrorCode;

struct Journal::State {
    std::optional<HolderLock> lock;  // absent when reading; released after the connection is closed
    Database database;
    std::optional<std::int64_t> identity;  // row of the identity it was opened for
    std::string identity_digest;
    std::set<std::int64_t> damaged;
};

namespace {

constexpr std::string_view journal_suffix = ".journal";
constexpr std::string_view remedy_move = ": move it aside and tune again, or name another file with --journal";

Error bad_file(const std::string& path, const std::string& reason) {
    return {ErrorCode::check_failed, one_line(path) + ": " + reason + std::string(remedy_move)};
}

// A directory, FIFO or device is refused before SQLite touches it.
void require_regular(const std::string& path) {
    struct stat facts {};
    if (::stat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode)) throw bad_file(path, "is no regular file");
}

// Everything that says "not ours" or "too new" is looked at before any table is.
void check_header(Database& database) {
    const std::string& path = database.name();
    const std::int64_t application = database.integer("PRAGMA application_id");
    if (application == release_application_id) throw bad_file(path, "is a release, not a journal");
    if (application != journal_application_id) throw bad_file(path, "is an SQLite database, but not a journal of attune");
    const std::int64_t version = database.integer("PRAGMA user_version");
    if (version > schema_version) {
        throw Error(ErrorCode::check_failed, one_line(path) + ": has format " + std::to_string(version) + ", newer than " + std::to_string(schema_version) +
                                                 ", the newest this attune knows: update attune, or name another file with --journal");
    }
    if (version != schema_version) throw bad_file(path, "has format " + std::to_string(version) + ", which never existed");
}

void check_content(Database& database) {
    require_schema(database, journal_schema());
    const std::string verdict = database.text("PRAGMA quick_check(1)");
    if (verdict != "ok") throw bad_file(database.name(), "corrupt (" + verdict.substr(0, 120) + ")");
}

// Asked without touching the schema. The pragma comes first: it rolls back what a killed creator left.
bool is_empty(Database& database) {
    if (database.integer("PRAGMA application_id") != 0) return false;
    std::error_code error;
    return std::filesystem::file_size(database.name(), error) == 0 && !error;
}

void create(Database& database) {
    if (!is_empty(database)) return;
    Transaction transaction(database);
    database.execute("PRAGMA application_id=" + std::to_string(journal_application_id));
    database.execute("PRAGMA user_version=" + std::to_string(schema_version));
    database.execute(std::string(journal_schema()));
    transaction.commit();
}

std::int64_t identity_row(Database& database, const Identity& identity) {
    Statement insert(database, "INSERT INTO identity(digest, text) VALUES(?, ?) ON CONFLICT(digest) DO NOTHING");
    insert.bind(identity.digest()).bind(identity.text()).run();
    Statement query(database, "SELECT id FROM identity WHERE digest = ?");
    query.bind(identity.digest());
    if (!query.step()) database.fail(SQLITE_CORRUPT);
    return query.integer();
}

std::optional<std::int64_t> find_identity(const Database& database, const Identity& identity) {
    Statement query(database, "SELECT id FROM identity WHERE digest = ? AND text = ?");
    query.bind(identity.digest()).bind(identity.text());
    if (!query.step()) return std::nullopt;
    return query.integer();
}

void store_context(Database& database, std::int64_t identity, const std::vector<std::pair<std::string, std::string>>& context) {
    Statement upsert(database, "INSERT INTO context(identity, name, value) VALUES(?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value");
    for (const auto& [name, value] : context)
        upsert.bind(identity).bind(name).bind(value).run();
}

Database open_file_for_writing(const std::string& path) {
    Database database = Database::open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    if (database.read_only()) {
        throw Error(ErrorCode::failure, one_line(path) + ": is read-only: make it writable, or name another file with --journal");
    }
    sqlite3_db_config(database.handle(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    database.execute("PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON");
    if (!is_empty(database)) check_header(database);
    if (database.text("PRAGMA journal_mode=DELETE") != "delete") throw bad_file(path, "cannot use a rollback journal");
    return database;
}

std::optional<CutSet> newest_cuts(const Database& database, std::optional<std::int64_t> identity) {
    Statement query(database, "SELECT id, upper_ns FROM cut_set WHERE ?1 < 0 OR identity = ?1 ORDER BY sequence DESC LIMIT 1");
    query.bind(identity.value_or(-1));
    if (!query.step()) return std::nullopt;
    CutSet cuts;
    cuts.id = query.text();
    cuts.upper_ns = query.doubles();
    return cuts;
}

}  // namespace

Journal::Journal(std::unique_ptr<State> state) : state_(std::move(state)) {}
Journal::~Journal() = default;
Journal::Journal(Journal&&) noexcept = default;
Journal& Journal::operator=(Journal&&) noexcept = default;

Journal Journal::open(const std::string& given, const Identity& identity, const std::vector<std::pair<std::string, std::string>>& context) {
    core::make_directories(core::parent_directory(absolute_path(given)));
    const std::string path = absolute_path(given);
    refuse_network_file_system(path, file_system_magic(core::parent_directory(path)));
    require_regular(path);
    HolderLock lock(path);
    Database database = open_file_for_writing(path);
    create(database);
    check_content(database);
    Transaction transaction(database);
    const std::int64_t row = identity_row(database, identity);
    store_context(database, row, context);
    transaction.commit();
    return Journal(std::make_unique<State>(State{std::move(lock), std::move(database), row, identity.digest(), {}}));
}

// The pages are copied into memory under one short shared lock: a reader never keeps the writer from committing.
Journal Journal::open_for_reading(const std::string& given) {
    const std::string path = absolute_path(given);
    if (!core::file_exists(path)) throw Error(ErrorCode::not_found, one_line(path) + ": no such journal");
    require_regular(path);
    // Read-write, so that the rollback journal of a killed writer can be rolled back; SQLite itself falls back to read-only.
    Database file = Database::open(path, SQLITE_OPEN_READWRITE);
    const bool empty = is_empty(file);  // made, and nothing written yet
    if (!empty) check_header(file);
    Database copy = Database::in_memory(path);
    empty ? copy.execute(std::string(journal_schema())) : copy.copy_from(file);
    check_content(copy);
    copy.execute("PRAGMA query_only=ON");
    return Journal(std::make_unique<State>(State{std::nullopt, std::move(copy), std::nullopt, {}, {}}));
}

std::int64_t Journal::record(const Trial& trial) {
    if (!state_->identity) throw Error(ErrorCode::failure, one_line(state_->database.name()) + ": was opened for reading only");
    Transaction transaction(state_->database);
    const std::int64_t id = insert_trial(state_->database, *state_->identity, state_->identity_digest, trial);
    transaction.commit();
    return id;
}

std::vector<Trial> Journal::trials(const Identity& identity) const {
    std::vector<Trial> out;
    const auto row = find_identity(state_->database, identity);
    if (!row) return out;
    TrialReader reader(state_->database, *row, identity.digest());
    while (reader.next()) {
        if (auto trial = reader.trial()) {
            out.push_back(std::move(*trial));
        } else {
            state_->damaged.insert(reader.id());
        }
    }
    return out;
}

std::size_t Journal::damaged() const {
    return state_->damaged.size();
}

void Journal::store_cuts(const CutSet& cuts) {
    if (!state_->identity) throw Error(ErrorCode::failure, one_line(state_->database.name()) + ": was opened for reading only");
    Transaction transaction(state_->database);
    Statement insert(state_->database, "INSERT INTO cut_set(identity, id, upper_ns) VALUES(?, ?, ?)");
    insert.bind(*state_->identity).bind(cuts.id).bind(std::span<const double>(cuts.upper_ns)).run();
    transaction.commit();
}

std::optional<CutSet> Journal::cuts() const {
    return newest_cuts(state_->database, state_->identity);
}

std::optional<CutSet> Journal::cuts(const Identity& identity) const {
    const auto row = find_identity(state_->database, identity);
    return row ? newest_cuts(state_->database, row) : std::nullopt;
}

void Journal::set_value(const std::string& name, const std::string& value) {
    if (!state_->identity) throw Error(ErrorCode::failure, one_line(state_->database.name()) + ": was opened for reading only");
    Transaction transaction(state_->database);
    Statement upsert(state_->database, "INSERT INTO value(identity, name, value) VALUES(?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value");
    upsert.bind(*state_->identity).bind(name).bind(value).run();
    transaction.commit();
}

std::optional<std::string> Journal::value(const std::string& name) const {
    Statement query(state_->database, "SELECT value FROM value WHERE (?1 < 0 OR identity = ?1) AND name = ?2 ORDER BY identity DESC LIMIT 1");
    query.bind(state_->identity.value_or(-1)).bind(name);
    if (!query.step()) return std::nullopt;
    return query.text();
}

std::vector<Identity> Journal::identities() const {
    std::vector<Identity> out;
    Statement query(state_->database, "SELECT text FROM identity ORDER BY id");
    while (query.step())
        out.push_back(Identity::parse(query.text()));
    return out;
}

std::vector<std::pair<std::string, std::string>> Journal::context(const Identity& identity) const {
    std::vector<std::pair<std::string, std::string>> out;
    const auto row = find_identity(state_->database, identity);
    Statement query(state_->database, "SELECT name, value FROM context WHERE identity = ? ORDER BY name");
    query.bind(row.value_or(-1));
    while (query.step()) {
        std::string name = query.text();
        out.emplace_back(std::move(name), query.text());
    }
    return out;
}

bool is_journal(const std::string& path) {
    constexpr std::size_t header_bytes = 100, id_at = 68;  // https://sqlite.org/fileformat.html 1.3
    std::array<unsigned char, header_bytes> header{};
    struct stat facts {};
    if (::stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return false;
    if (facts.st_size == 0) return path.ends_with(journal_suffix);
    std::ifstream file(path, std::ios::binary);
    if (!file.read(reinterpret_cast<char*>(header.data()), header.size())) return false;
    std::int64_t id = 0;
    for (std::size_t i = 0; i < 4; ++i)
        id = id << 8 | header[id_at + i];
    return id == journal_application_id;
}

std::string journal_path_of(const std::string& release_path) {
    constexpr std::string_view suffix = ".db";
    const bool ends = release_path.size() > suffix.size() && release_path.ends_with(suffix);
    return (ends ? release_path.substr(0, release_path.size() - suffix.size()) : release_path) + std::string(journal_suffix);
}

}  // namespace attune::db
