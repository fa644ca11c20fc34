#include "libcore/config_table_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace attune::core::table_format {

namespace {

bool is_word(std::string_view text) {
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
    return std::all_of(text.begin(), text.end(), letter);
}

// Empty when the row is fine.
std::string_view fault_of(const TableRow& row, const Texts& texts) {
    constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (row.low_bytes > row.high_bytes || row.high_bytes > largest) return "has no valid interval of bytes";
    const auto no_gain = [](double gain) { return !std::isfinite(gain) || gain <= 0; };
    if (no_gain(row.gain) || no_gain(row.gain_low) || no_gain(row.gain_high)) return "has a gain that is no positive number";
    if (row.gain_low > row.gain_high) return "has the ends of its interval of gain exchanged";
    const auto no_time = [](double ns) { return !std::isfinite(ns) || ns < 0; };
    if (no_time(row.default_ns) || no_time(row.best_ns)) return "has a time that is no number of at least 0";
    if (!is_word(row.instruction_set)) return "has an instruction set that is no word";
    const bool fits = std::all_of(texts.begin(), texts.end(), [](const std::string& text) { return text.size() <= longest_text; });
    return fits ? "" : "has a text longer than 1024 characters";
}

}  // namespace

Texts texts_of(const TableRow& row) {
    return {row.key.text(), row.config.text(), row.default_config.text(), row.instruction_set};
}

void read_numbers(const std::byte* record, TableRow& row) noexcept {
    row.low_bytes = load_little<std::uint64_t>(record + at_low);
    row.high_bytes = load_little<std::uint64_t>(record + at_high);
    row.default_version = load_little<std::uint32_t>(record + at_default_version);
    row.algorithm_version = load_little<std::uint32_t>(record + at_algorithm_version);
    double* const values[double_count] = {&row.default_ns, &row.best_ns, &row.gain, &row.gain_low, &row.gain_high};
    for (std::size_t i = 0; i < double_count; ++i)
        *values[i] = load_double(record + at_doubles + i * sizeof(double));
}

void check_row(const TableRow& row, const Texts& texts, ErrorCode code) {
    const std::string_view fault = fault_of(row, texts);
    if (fault.empty()) return;
    throw Error(code, fmt::format("row '{}' for {} to {} bytes {}", texts[key_text], row.low_bytes, row.high_bytes, fault));
}

void check_follows(const CheckedRow& last, const CheckedRow& next, ErrorCode code) {
    const std::string& last_key = last.texts[key_text];
    const std::string& next_key = next.texts[key_text];
    if (last_key < next_key) return;
    if (next_key < last_key) throw Error(code, fmt::format("row '{}' stands behind row '{}': they are not in order", next_key, last_key));
    if (last.row.high_bytes < next.row.low_bytes) return;
    throw Error(code, fmt::format("two rows of '{}' overlap or are not in order: {} to {} and {} to {} bytes", next_key, last.row.low_bytes,
                                  last.row.high_bytes, next.row.low_bytes, next.row.high_bytes));
}

}  // namespace attune::core::table_format
