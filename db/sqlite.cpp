#include "db/sqlite.hpp"

#include "db/one_line.hpp"
#include "libcore/error.hpp"

#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>

namespace attune::db {

using core::Error;
using core::ErrorCode;

namespace {

static_assert(std::endian::native == std::endian::little, "blobs of doubles are little endian");

// Waiting for the short shared lock of a reader; a second writer is kept out by the lock file long before this.
constexpr int busy_timeout_ms = 30'000;
// A crafted file may hold loops of pages; five thousand million virtual-machine steps are far beyond any honest 256 MiB file.
constexpr int steps_per_tick = 1'000'000;
constexpr int most_ticks = 5'000;

struct Limit {
    int id, value;
};
constexpr Limit image_limits[] = {
    {SQLITE_LIMIT_LENGTH, 64 << 20}, {SQLITE_LIMIT_SQL_LENGTH, 1 << 16},     {SQLITE_LIMIT_COLUMN, 64},       {SQLITE_LIMIT_EXPR_DEPTH, 32},
    {SQLITE_LIMIT_ATTACHED, 0},      {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 64}, {SQLITE_LIMIT_TRIGGER_DEPTH, 1}, {SQLITE_LIMIT_WORKER_THREADS, 0},
};

void harden(sqlite3* handle) {
    sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_DQS_DDL, 0, nullptr);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
    for (const Limit& limit : image_limits)
        sqlite3_limit(handle, limit.id, limit.value);
}

// Over quota and above a file-size limit arrive as failed writes, whose errno SQLite does not always keep.
bool cannot_write(int code) {
    return (code & 0xff) == SQLITE_FULL || code == SQLITE_IOERR_WRITE || code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_TRUNCATE;
}

Error error_of(int code, int system_error, const std::string& name, const std::string& detail) {
    const int primary = code & 0xff;
    if (cannot_write(code)) {
        return {ErrorCode::failure, one_line(name) + ": cannot be written (disk full, over quota or failing): free some space, or name a file elsewhere"};
    }
    switch (primary) {
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
            return {ErrorCode::busy, one_line(name) + ": in use by another process: try again when it has ended"};
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB:
        case SQLITE_TOOBIG:
        case SQLITE_INTERRUPT:
            return {ErrorCode::check_failed, one_line(name) + ": corrupt (" + one_line(detail) + "): move it aside and tune again"};
        case SQLITE_READONLY:
            return {ErrorCode::failure,
                    one_line(name) + ": is read-only (" + one_line(detail) + "): make the file and its folder writable, or name a file elsewhere"};
        case SQLITE_CANTOPEN:
        case SQLITE_PERM:
            return {ErrorCode::failure, one_line(name) + ": cannot be opened: check the permissions of the file and its folder, or name a file elsewhere"};
        default:
            return {ErrorCode::failure,
                    one_line(name) + ": " + one_line(detail) + (system_error != 0 ? " (" + std::string(std::strerror(system_error)) + ")" : "")};
    }
}

}  // namespace

void Database::Close::operator()(sqlite3* handle) const noexcept {
    sqlite3_close_v2(handle);
}

Database::Database(std::unique_ptr<sqlite3, Close> handle, std::string name) : handle_(std::move(handle)), name_(std::move(name)) {}

Database Database::open(const std::string& path, int flags) {
    sqlite3* raw = nullptr;
    const int code = sqlite3_open_v2(path.c_str(), &raw, flags | SQLITE_OPEN_EXRESCODE, nullptr);
    Database database({raw, Close{}}, path);
    if (code != SQLITE_OK) database.fail(code);
    sqlite3_busy_timeout(raw, busy_timeout_ms);
    return database;
}

Database Database::in_memory(const std::string& name) {
    Database database = open(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    database.name_ = name;
    return database;
}

Database Database::over_image(std::span<std::byte> image, const std::string& name) {
    Database database = in_memory(name);
    sqlite3* handle = database.handle();
    auto* bytes = reinterpret_cast<unsigned char*>(image.data());
    const auto size = static_cast<sqlite3_int64>(image.size());
    const int code = sqlite3_deserialize(handle, "main", bytes, size, size, SQLITE_DESERIALIZE_READONLY);
    if (code != SQLITE_OK) database.fail(code);
    harden(handle);
    database.execute("PRAGMA cell_size_check=ON; PRAGMA temp_store=MEMORY; PRAGMA query_only=ON");
    database.ticks_ = std::make_unique<int>(0);
    const auto tick = [](void* count) -> int { return ++*static_cast<int*>(count) > most_ticks ? 1 : 0; };
    sqlite3_progress_handler(handle, steps_per_tick, tick, database.ticks_.get());
    return database;
}

void Database::execute(const std::string& sql) {
    const int code = sqlite3_exec(handle(), sql.c_str(), nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) fail(code);
}

std::int64_t Database::integer(const std::string& sql) {
    Statement statement(*this, sql);
    if (!statement.step()) fail(SQLITE_CORRUPT);
    return statement.integer();
}

std::string Database::text(const std::string& sql) {
    Statement statement(*this, sql);
    if (!statement.step()) fail(SQLITE_CORRUPT);
    return statement.text();
}

void Database::copy_from(Database& from) {
    sqlite3_backup* backup = sqlite3_backup_init(handle(), "main", from.handle(), "main");
    if (backup == nullptr) fail(sqlite3_extended_errcode(handle()));
    const int step = sqlite3_backup_step(backup, -1);
    const int finish = sqlite3_backup_finish(backup);
    if (step != SQLITE_DONE) from.fail(step);
    if (finish != SQLITE_OK) fail(finish);
}

bool Database::read_only() const noexcept {
    return sqlite3_db_readonly(handle(), "main") == 1;
}

void Database::fail(int code) const {
    const int system_error = handle() != nullptr ? sqlite3_system_errno(handle()) : 0;
    const bool has_text = handle() != nullptr && (sqlite3_extended_errcode(handle()) & 0xff) == (code & 0xff);
    throw error_of(code, system_error, name_, has_text ? sqlite3_errmsg(handle()) : sqlite3_errstr(code));
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const noexcept {
    sqlite3_finalize(statement);
}

Statement::Statement(const Database& database, std::string_view sql) : database_(&database) {
    sqlite3_stmt* raw = nullptr;
    check(sqlite3_prepare_v3(database.handle(), sql.data(), static_cast<int>(sql.size()), 0, &raw, nullptr));
    statement_.reset(raw);
}

void Statement::check(int code) const {
    if (code != SQLITE_OK) database_->fail(code);
}

Statement& Statement::bind(std::int64_t value) {
    check(sqlite3_bind_int64(statement_.get(), ++parameter_, value));
    return *this;
}

Statement& Statement::bind(double value) {
    if (std::isnan(value)) throw Error(ErrorCode::failure, one_line(database_->name()) + ": refused to store a value that is not a number");
    check(sqlite3_bind_double(statement_.get(), ++parameter_, value));
    return *this;
}

Statement& Statement::bind(std::string_view value) {
    const char* text = value.data() != nullptr ? value.data() : "";
    check(sqlite3_bind_text64(statement_.get(), ++parameter_, text, value.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
    return *this;
}

Statement& Statement::bind(std::span<const std::byte> value) {
    if (value.empty()) {
        check(sqlite3_bind_zeroblob(statement_.get(), ++parameter_, 0));
    } else {
        check(sqlite3_bind_blob64(statement_.get(), ++parameter_, value.data(), value.size(), SQLITE_TRANSIENT));
    }
    return *this;
}

Statement& Statement::bind(std::span<const double> value) {
    return bind(std::as_bytes(value));
}

bool Statement::step() {
    column_ = 0;
    const int code = sqlite3_step(statement_.get());
    if (code == SQLITE_ROW) return true;
    if (code != SQLITE_DONE) database_->fail(code);
    return false;
}

void Statement::run() {
    while (step()) {
    }
    reset();
}

void Statement::reset() {
    sqlite3_reset(statement_.get());
    sqlite3_clear_bindings(statement_.get());
    parameter_ = 0;
}

int Statement::next_column(int type) {
    const int column = column_++;
    if (sqlite3_column_type(statement_.get(), column) == type) return column;
    const char* column_name = sqlite3_column_name(statement_.get(), column);
    throw Error(ErrorCode::check_failed,
                one_line(database_->name()) + ": wrong type in column '" + (column_name != nullptr ? one_line(column_name) : "?") + "'");
}

std::int64_t Statement::integer() {
    return sqlite3_column_int64(statement_.get(), next_column(SQLITE_INTEGER));
}

double Statement::real() {
    return sqlite3_column_double(statement_.get(), next_column(SQLITE_FLOAT));
}

std::string Statement::text() {
    const int column = next_column(SQLITE_TEXT);
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
    const int size = sqlite3_column_bytes(statement_.get(), column);
    return {bytes, static_cast<std::size_t>(size)};
}

std::span<const std::byte> Statement::blob() {
    const int column = next_column(SQLITE_BLOB);
    const void* bytes = sqlite3_column_blob(statement_.get(), column);
    const int size = sqlite3_column_bytes(statement_.get(), column);
    return {static_cast<const std::byte*>(bytes), static_cast<std::size_t>(size)};
}

std::vector<double> Statement::doubles() {
    const auto bytes = blob();
    if (bytes.size() % sizeof(double) != 0) throw Error(ErrorCode::check_failed, one_line(database_->name()) + ": a blob of samples has a broken length");
    std::vector<double> values(bytes.size() / sizeof(double));
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
}

Transaction::Transaction(Database& database) : database_(database) {
    database_.execute("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
    if (open_) sqlite3_exec(database_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() {
    database_.execute("COMMIT");
    open_ = false;
}

}  // namespace attune::db
