#include "libcore/config_table.hpp"

#include "libcore/config_table_format.hpp"
#include "libcore/units.hpp"

#include <fmt/format.h>

#include <concepts>

namespace attune::core {

namespace {

using namespace table_format;

// The first index in [low, high) that does not go before what is searched, or high.
template <std::predicate<std::size_t> GoesBefore>
std::size_t partition_point(std::size_t low, std::size_t high, const GoesBefore& goes_before) noexcept {
    while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        if (goes_before(middle)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

}  // namespace

std::string interval_text(const TableRow& row) {
    if (row.low_bytes == row.high_bytes) return format_bytes(row.low_bytes);
    return format_bytes(row.low_bytes) + " .. " + format_bytes(row.high_bytes);
}

// The texts were checked when the table was made, so parsing them cannot fail.
TableRow ConfigTable::row(std::size_t index) const {
    if (index >= count_) throw Error(ErrorCode::failure, fmt::format("row {} is outside a table of {} rows", index, count_));
    const View view{bytes_, count_};
    TableRow row;
    row.key = Key::parse(view.text(index, key_text));
    row.config = Config::parse(view.text(index, config_text));
    row.default_config = Config::parse(view.text(index, default_text));
    row.instruction_set = view.text(index, instruction_text);
    read_numbers(view.record(index), row);
    return row;
}

std::optional<std::size_t> ConfigTable::find(std::string_view key, std::uint64_t bytes) const noexcept {
    const View view{bytes_, count_};
    const auto [first, last] = key_range(key);
    const auto begins_at_or_below = [&](std::size_t i) { return load_little<std::uint64_t>(view.record(i) + at_low) <= bytes; };
    const std::size_t behind = partition_point(first, last, begins_at_or_below);
    if (behind == first) return std::nullopt;
    const bool inside = bytes <= load_little<std::uint64_t>(view.record(behind - 1) + at_high);
    return inside ? std::optional(behind - 1) : std::nullopt;
}

std::pair<std::size_t, std::size_t> ConfigTable::key_range(std::string_view key) const noexcept {
    const View view{bytes_, count_};
    const std::size_t first = partition_point(0, count_, [&](std::size_t i) { return view.text(i, key_text) < key; });
    return {first, partition_point(first, count_, [&](std::size_t i) { return view.text(i, key_text) <= key; })};
}

}  // namespace attune::core
