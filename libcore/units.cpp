#include "libcore/units.hpp"

#include "libcore/error.hpp"
#include "libcore/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

namespace attune::core {

namespace {

struct ByteUnit {
    char letter;
    std::uint64_t bytes;
};
constexpr std::array<ByteUnit, 4> byte_units = {{{'T', 1ULL << 40}, {'G', 1ULL << 30}, {'M', 1ULL << 20}, {'K', 1ULL << 10}}};

struct TimeUnit {
    std::string_view name;
    double ns;
};
constexpr std::array<TimeUnit, 7> time_units = {{{"ns", 1.0}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"", 1e9}, {"m", 60e9}, {"h", 3600e9}}};

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

Error bad_size(std::string_view text, std::string_view reason) {
    return Error(ErrorCode::usage, fmt::format("size '{}' {}", printable(text), reason));
}

Error bad_duration(std::string_view text, std::string_view reason) {
    return Error(ErrorCode::usage, fmt::format("duration '{}' {}", printable(text), reason));
}

// The factor of "", "B", "K", "KiB" and so on, in any case.
std::uint64_t byte_factor(std::string_view text, std::string_view suffix) {
    if (suffix.empty() || suffix == "B" || suffix == "b") return 1;
    const char letter = static_cast<char>(std::toupper(static_cast<unsigned char>(suffix[0])));
    const auto unit = std::find_if(byte_units.begin(), byte_units.end(), [letter](const ByteUnit& entry) { return entry.letter == letter; });
    if (unit == byte_units.end()) throw bad_size(text, "has an unknown unit; write a whole number of bytes or use K, M, G or T, for example 64K");
    const std::string rest = lower_case(suffix.substr(1));
    if (rest.empty() || rest == "ib") return unit->bytes;
    if (rest == "b") throw bad_size(text, fmt::format("is ambiguous (1000- or 1024-based?); write {0} or {0}iB, which are 1024-based", letter));
    throw bad_size(text, fmt::format("has trailing characters after the unit {}; for example 64K", letter));
}

std::string trimmed_number(double value, int decimals) {
    std::string out = fmt::format("{:.{}f}", value, decimals);
    if (out.find('.') == std::string::npos) return out;
    out.erase(out.find_last_not_of('0') + 1);
    if (out.back() == '.') out.pop_back();
    return out;
}

// Three significant digits of a positive value below 1000.
std::string three_digits(double value) {
    if (value >= 99.95) return fmt::format("{:.0f}", value);
    if (value >= 9.995) return fmt::format("{:.1f}", value);
    return fmt::format("{:.2f}", value);
}

}  // namespace

std::uint64_t parse_bytes(std::string_view text) {
    if (text.empty()) throw bad_size(text, "is empty; write for example 64K");
    if (text[0] == '-') throw bad_size(text, "is negative; sizes are at least 0");
    std::uint64_t number = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (status == std::errc::result_out_of_range) throw bad_size(text, "is too large; the limit is 16 EiB");
    if (status != std::errc()) throw bad_size(text, "is not a number; write for example 64K");
    const std::string_view suffix = text.substr(static_cast<std::size_t>(end - text.data()));
    if (!suffix.empty() && suffix[0] == '.') throw bad_size(text, "has a fraction; write a whole number of a smaller unit");
    const std::uint64_t factor = byte_factor(text, suffix);
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(number, factor, &bytes)) throw bad_size(text, "is too large; the limit is 16 EiB");
    return bytes;
}

std::int64_t parse_duration_ns(std::string_view text) {
    if (text.empty()) throw bad_duration(text, "is empty; write for example 250ms or 5s");
    if (text[0] == '-') throw bad_duration(text, "is negative; durations are at least 0");
    const std::size_t length = static_cast<std::size_t>(std::find_if(text.begin(), text.end(), [](char c) { return !is_digit(c) && c != '.'; }) - text.begin());
    const std::string_view digits = text.substr(0, length);
    const bool well_formed = length > 0 && is_digit(digits.front()) && is_digit(digits.back()) && std::count(digits.begin(), digits.end(), '.') <= 1;
    if (!well_formed) throw bad_duration(text, "is not a number; write for example 250ms or 5s");
    const std::string_view suffix = text.substr(length);
    const auto unit = std::find_if(time_units.begin(), time_units.end(), [suffix](const TimeUnit& entry) { return entry.name == suffix; });
    if (unit == time_units.end()) throw bad_duration(text, "has an unknown unit; use ns, us, ms, s, m or h");
    double value = std::numeric_limits<double>::infinity();
    const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    // 9.2e18 is just below the largest int64, 292 years; a number too long for from_chars leaves infinity.
    const double ns = status == std::errc() ? std::round(value * unit->ns) : std::numeric_limits<double>::infinity();
    if (!(ns <= 9.2e18)) throw bad_duration(text, "is too long; the limit is 292 years");
    return static_cast<std::int64_t>(ns);
}

std::string format_bytes(std::uint64_t bytes) {
    if (bytes < 1024) return fmt::format("{} B", bytes);
    std::size_t index = byte_units.size() - 1;
    while (index > 0 && bytes >= byte_units[index - 1].bytes)
        --index;
    const auto scaled = [bytes](std::size_t unit) { return static_cast<double>(bytes) / static_cast<double>(byte_units[unit].bytes); };
    // 1023.999 KiB would print as 1024 KiB.
    if (index > 0 && scaled(index) >= 1023.995) --index;
    return fmt::format("{} {}iB", trimmed_number(scaled(index), 2), byte_units[index].letter);
}

std::string compact_bytes(std::uint64_t bytes) {
    if (bytes == 0) return "0";
    for (const ByteUnit& unit : byte_units) {
        if (bytes % unit.bytes == 0) return fmt::format("{}{}", bytes / unit.bytes, unit.letter);
    }
    return fmt::format("{}", bytes);
}

std::string format_time_us(double microseconds) {
    if (!std::isfinite(microseconds)) return "-";
    if (microseconds < 0) return fmt::format("-{}", format_time_us(-microseconds));
    if (microseconds == 0) return "0 us";
    // 999.5 rounds to 1000, which is the next unit's 1.00.
    if (microseconds < 0.9995) return three_digits(microseconds * 1e3) + " ns";
    if (microseconds < 999.5) return three_digits(microseconds) + " us";
    if (microseconds < 999.5e3) return three_digits(microseconds / 1e3) + " ms";
    return three_digits(microseconds / 1e6) + " s";
}

}  // namespace attune::core
