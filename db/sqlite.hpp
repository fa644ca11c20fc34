// RAII over SQLite's C interface: one class per handle. Private to this room; failures become core::Error naming the file and a remedy.
#pragma once

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attune::db {

// One connection. `name` is the file as the user knows it and starts every message.
class Database {
public:
    // `flags` are SQLITE_OPEN_*; extended result codes are always on.
    static Database open(const std::string& path, int flags);
    static Database in_memory(const std::string& name);
    // Read-only over an image that must outlive the connection, set up to distrust every byte of it.
    static Database over_image(std::span<std::byte> image, const std::string& name);

    void execute(const std::string& sql);
    std::int64_t integer(const std::string& sql);  // first column of the first row
    std::string text(const std::string& sql);
    // Copies every page of `from`, under one short shared lock.
    void copy_from(Database& from);

    sqlite3* handle() const noexcept { return handle_.get(); }
    const std::string& name() const noexcept { return name_; }
    bool read_only() const noexcept;
    // Throws core::Error for a result code: busy, check_failed (corrupt, not a database) or failure (disk full, read-only, I/O).
    [[noreturn]] void fail(int code) const;

private:
    struct Close {
        void operator()(sqlite3* handle) const noexcept;
    };
    Database(std::unique_ptr<sqlite3, Close> handle, std::string name);
    std::unique_ptr<int> ticks_;  // outlives the connection, whose progress handler counts in it
    std::unique_ptr<sqlite3, Close> handle_;
    std::string name_;
};

// One prepared statement. Columns are read with their type checked: a value of another type is Error(check_failed).
class Statement {
public:
    Statement(const Database& database, std::string_view sql);

    // Parameters in order, from the first after construction or reset().
    Statement& bind(std::int64_t value);
    Statement& bind(double value);  // not a number is refused: SQLite would store NULL
    Statement& bind(std::string_view value);
    Statement& bind(std::span<const std::byte> value);
    Statement& bind(std::span<const double> value);  // as a blob, little endian
    bool step();                                     // true while there is a row
    void run();                                      // for statements without rows; resets
    void reset();

    // Columns in order, from the first after each step().
    std::int64_t integer();
    double real();
    std::string text();
    std::span<const std::byte> blob();  // valid until the next step()
    std::vector<double> doubles();

private:
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const noexcept;
    };
    void check(int code) const;
    int next_column(int type);

    const Database* database_;
    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
    int parameter_ = 0;
    int column_ = 0;
};

// BEGIN IMMEDIATE; rolled back unless committed.
class Transaction {
public:
    explicit Transaction(Database& database);
    ~Transaction();
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    void commit();

private:
    Database& database_;
    bool open_ = true;
};

}  // namespace attune::db
