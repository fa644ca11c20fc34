// The flat table a job chooses from: one block of bytes without pointers, sorted, with a digest. The database builds it, rank 0
// broadcasts it, every rank searches it in memory.
#pragma once

#include "libcore/config.hpp"
#include "libcore/key.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attune::core {

// One published choice. Valid for key and low_bytes <= bytes <= high_bytes (both ends included).
struct TableRow {
    Key key;
    std::uint64_t low_bytes = 0;
    std::uint64_t high_bytes = 0;
    Config config;
    Config default_config;  // the full default this row was proven against
    std::uint32_t default_version = 0;
    std::uint32_t algorithm_version = 0;
    std::string instruction_set;  // "avx512", "avx2", "generic": needed to reproduce the proof
    double default_ns = 0;        // median time of the default and of the config when proven
    double best_ns = 0;
    double gain = 1;  // default / tuned, with its 99 % interval
    double gain_low = 1;
    double gain_high = 1;

    friend bool operator==(const TableRow&, const TableRow&) = default;
};
std::string interval_text(const TableRow& row);  // "8 B .. 512 B", one size when both ends are equal

// Immutable after construction; safe to read from several threads.
class ConfigTable {
public:
    ConfigTable();  // an empty table

    // Sorts by (key text, low_bytes). Throws Error(failure) when two rows of one key overlap, or for a number or text no table may hold
    // (an interval above int64, a gain that is not positive and finite, a text above 1,024 characters).
    static ConfigTable build(std::vector<TableRow> rows);
    // Takes serialized bytes from a file or a message. Checks magic, version, every offset and the order, in time linear in
    // the size, without trusting a single length; accepts exactly what build() writes. Throws Error(check_failed).
    static ConfigTable from_bytes(std::span<const std::byte> bytes);

    std::span<const std::byte> bytes() const noexcept { return bytes_; }
    std::uint64_t digest() const noexcept { return digest_; }  // first 8 bytes of SHA-256 of bytes()
    std::size_t size() const noexcept { return count_; }
    TableRow row(std::size_t index) const;
    // Index of the row whose key and interval contain the query: a binary search, no allocation.
    std::optional<std::size_t> find(std::string_view key_text, std::uint64_t bytes) const noexcept;
    // Rows with this key, as [first, last).
    std::pair<std::size_t, std::size_t> key_range(std::string_view key_text) const noexcept;

private:
    std::vector<std::byte> bytes_;
    std::uint64_t digest_ = 0;
    std::size_t count_ = 0;
};

}  // namespace attune::core
