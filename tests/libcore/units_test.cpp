#include "libcore/units.hpp"

#include "tests/support/expect_error.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace attune::core {
namespace {

TEST(ParseBytes, UnitsAreMultiplesOf1024InAnyCase) {
    EXPECT_EQ(parse_bytes("0"), 0U);
    EXPECT_EQ(parse_bytes("8"), 8U);
    EXPECT_EQ(parse_bytes("8B"), 8U);
    EXPECT_EQ(parse_bytes("64K"), 65536U);
    EXPECT_EQ(parse_bytes("64k"), 65536U);
    EXPECT_EQ(parse_bytes("64KiB"), 65536U);
    EXPECT_EQ(parse_bytes("4M"), 4ULL << 20);
    EXPECT_EQ(parse_bytes("1G"), 1ULL << 30);
    EXPECT_EQ(parse_bytes("2TiB"), 2ULL << 40);
    EXPECT_EQ(parse_bytes("18446744073709551615"), std::numeric_limits<std::uint64_t>::max());
}

TEST(ParseBytes, ThousandsAreRefusedWithAHint) {
    tests::expect_error(ErrorCode::usage, "'64KB' is ambiguous (1000- or 1024-based?); write K or KiB", [] { parse_bytes("64KB"); });
    tests::expect_error(ErrorCode::usage, "write M or MiB", [] { parse_bytes("1mb"); });
}

TEST(ParseBytes, RefusesEverythingElse) {
    const auto refused = [](std::string_view text, std::string_view part) { tests::expect_error(ErrorCode::usage, part, [text] { parse_bytes(text); }); };
    refused("", "is empty");
    refused("-1", "is negative");
    refused("+1", "is not a number");
    refused(" 1", "is not a number");
    refused("K", "is not a number");
    refused("0x10", "unknown unit");
    refused("1.5K", "has a fraction");
    refused("1Kx", "trailing characters");
    refused("1KiBs", "trailing characters");
    refused("1 K", "unknown unit");
    refused("1P", "unknown unit");
    refused("18446744073709551616", "is too large");
    refused("16777216T", "is too large");
    refused(std::string_view("1\0K", 3), "unknown unit");
}

TEST(CompactBytes, IsReadBackExactly) {
    EXPECT_EQ(compact_bytes(0), "0");
    EXPECT_EQ(compact_bytes(1000), "1000");
    EXPECT_EQ(compact_bytes(65536), "64K");
    EXPECT_EQ(compact_bytes(1025ULL << 10), "1025K");
    EXPECT_EQ(compact_bytes(1ULL << 40), "1T");
    std::mt19937_64 random(2);
    for (int i = 0; i < 1000; ++i) {
        const std::uint64_t bytes = random() >> random() % 64 << random() % 30;
        EXPECT_EQ(parse_bytes(compact_bytes(bytes)), bytes);
    }
}

TEST(FormatBytes, KeepsUpToTwoDecimals) {
    EXPECT_EQ(format_bytes(0), "0 B");
    EXPECT_EQ(format_bytes(24), "24 B");
    EXPECT_EQ(format_bytes(1023), "1023 B");
    EXPECT_EQ(format_bytes(1024), "1 KiB");
    EXPECT_EQ(format_bytes(1536), "1.5 KiB");
    EXPECT_EQ(format_bytes(65536), "64 KiB");
    EXPECT_EQ(format_bytes(102400), "100 KiB");
    EXPECT_EQ(format_bytes((1ULL << 20) - 1), "1 MiB");
    EXPECT_EQ(format_bytes(5ULL << 40), "5 TiB");
    EXPECT_EQ(format_bytes(1234567), "1.18 MiB");
    EXPECT_EQ(format_bytes(std::numeric_limits<std::uint64_t>::max()), "16777216 TiB");
}

TEST(ParseDuration, UnitsAndFractions) {
    EXPECT_EQ(parse_duration_ns("0"), 0);
    EXPECT_EQ(parse_duration_ns("7"), 7'000'000'000);
    EXPECT_EQ(parse_duration_ns("15ns"), 15);
    EXPECT_EQ(parse_duration_ns("3us"), 3'000);
    EXPECT_EQ(parse_duration_ns("250ms"), 250'000'000);
    EXPECT_EQ(parse_duration_ns("1.5s"), 1'500'000'000);
    EXPECT_EQ(parse_duration_ns("2m"), 120'000'000'000);
    EXPECT_EQ(parse_duration_ns("0.5h"), 1'800'000'000'000);
}

TEST(ParseDuration, RefusesEverythingElse) {
    for (const std::string_view text : {"", "-1s", "+1s", "s", "1.s", ".5s", "1..5s", "1.2.3s", "1e3s", "1 s", "1sec", "1d", "nan", "inf", "0x1", "1s "}) {
        tests::expect_error(ErrorCode::usage, "duration", [text] { parse_duration_ns(text); });
    }
    tests::expect_error(ErrorCode::usage, "limit is 292 years", [] { parse_duration_ns("9999999999h"); });
    tests::expect_error(ErrorCode::usage, "limit is 292 years", [] { parse_duration_ns(std::string(400, '9')); });
    EXPECT_EQ(parse_duration_ns("2500000h"), 2500000LL * 3'600'000'000'000);
}

TEST(FormatTime, HasThreeSignificantDigits) {
    EXPECT_EQ(format_time_us(0), "0 us");
    EXPECT_EQ(format_time_us(0.0123), "12.3 ns");
    EXPECT_EQ(format_time_us(0.5), "500 ns");
    EXPECT_EQ(format_time_us(1), "1.00 us");
    EXPECT_EQ(format_time_us(9.996), "10.0 us");
    EXPECT_EQ(format_time_us(99.96), "100 us");
    EXPECT_EQ(format_time_us(999.4), "999 us");
    EXPECT_EQ(format_time_us(999.7), "1.00 ms");
    EXPECT_EQ(format_time_us(1234.5), "1.23 ms");
    EXPECT_EQ(format_time_us(2.5e6), "2.50 s");
    EXPECT_EQ(format_time_us(-1234.5), "-1.23 ms");
    EXPECT_EQ(format_time_us(std::numeric_limits<double>::quiet_NaN()), "-");
}

}  // namespace
}  // namespace attune::core
