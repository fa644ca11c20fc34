// Layout of the flat table and what its writer and its checker share. Only libcore/config_table*.cpp include this.
#pragma once

#include "libcore/config_table.hpp"
#include "libcore/error.hpp"
#include "libcore/little_endian.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

// Format 1, all integers little endian, doubles as bit patterns:
//   header   magic 8 bytes, version u32, record size u32, rows u64, length of the string area u64
//   records  rows x record_bytes, ascending by (key text, low_bytes):
//            four places of texts (offset u32 in the string area, length u32), low u64, high u64, default version u32,
//            algorithm version u32, doubles default_ns, best_ns, gain, gain_low, gain_high
//   strings  key, config, default config, instruction set of each record, without gaps; a text equal to the same text of the record
//            before is not stored again: its place is repeated
// So the bytes are a function of the rows, and a reader can demand exactly the bytes that build() writes.
namespace attune::core::table_format {

constexpr std::string_view magic = "ATTUNTBL";
constexpr std::uint32_t version = 1;
constexpr std::size_t header_bytes = 32;
constexpr std::size_t at_version = 8, at_record_bytes = 12, at_rows = 16, at_string_bytes = 24;

constexpr std::size_t text_count = 4;
enum TextField : std::size_t { key_text, config_text, default_text, instruction_text };
constexpr std::size_t place_bytes = 8;
constexpr std::size_t at_low = 32, at_high = 40, at_default_version = 48, at_algorithm_version = 52, at_doubles = 56;
constexpr std::size_t double_count = 5;
constexpr std::size_t record_bytes = at_doubles + double_count * sizeof(double);

// Bounds what one record can make a reader do. The longest config has about 1,000 characters, a usual key 80.
constexpr std::size_t longest_text = 1024;

using Texts = std::array<std::string, text_count>;
Texts texts_of(const TableRow& row);

// Where a text lies; the accessors below trust it, so a checker looks at it first.
struct Place {
    std::size_t offset = 0;
    std::size_t length = 0;
    friend bool operator==(const Place&, const Place&) = default;
};
inline Place place_at(const std::byte* record, std::size_t field) noexcept {
    return {load_little<std::uint32_t>(record + field * place_bytes), load_little<std::uint32_t>(record + field * place_bytes + 4)};
}

// A table's bytes with the number of rows its header claims.
struct View {
    std::span<const std::byte> bytes;
    std::size_t rows = 0;

    const std::byte* record(std::size_t index) const noexcept { return bytes.data() + header_bytes + index * record_bytes; }
    std::size_t string_bytes() const noexcept { return bytes.size() - header_bytes - rows * record_bytes; }
    std::string_view text(const Place& place) const noexcept { return {reinterpret_cast<const char*>(record(rows)) + place.offset, place.length}; }
    std::string_view text(std::size_t index, TextField field) const noexcept { return text(place_at(record(index), field)); }
};

// The numbers of a record; the texts stay as they are.
void read_numbers(const std::byte* record, TableRow& row) noexcept;

// Throws Error(code) for an interval, gain, time, instruction set or text length that no table may hold.
void check_row(const TableRow& row, const Texts& texts, ErrorCode code);
struct CheckedRow {
    TableRow row;
    Texts texts;
};
// Throws Error(code) unless `next` comes after `last`: a greater key, or the same key and bytes above last's interval.
void check_follows(const CheckedRow& last, const CheckedRow& next, ErrorCode code);

}  // namespace attune::core::table_format
