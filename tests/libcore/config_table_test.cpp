#include "libcore/config_table.hpp"

#include "libcore/config_table_format.hpp"
#include "libcore/crypto.hpp"
#include "tests/support/expect_error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace attune::core {
namespace {

using table_format::header_bytes;
using table_format::record_bytes;

TableRow make_row(const std::string& collective, std::uint64_t low, std::uint64_t high, const std::string& config = "algorithm=ring,segment_bytes=64K") {
    TableRow row;
    row.key.collective = collective;
    row.key.dtype_class = "float32";
    row.key.op = "sum";
    row.key.ranks = 4;
    row.key.node_map = "1x4";
    row.key.transport = "shm";
    row.low_bytes = low;
    row.high_bytes = high;
    row.config = Config::parse(config);
    row.default_config = Config::parse("algorithm=one_shot");
    row.default_version = 3;
    row.algorithm_version = 7;
    row.instruction_set = "avx2";
    row.default_ns = 1500.5;
    row.best_ns = 1000.25;
    row.gain = 1.5;
    row.gain_low = 1.4;
    row.gain_high = 1.625;
    return row;
}

std::vector<TableRow> sample_rows() {
    return {make_row("broadcast", 100, 200), make_row("all_reduce", 4096, 8192, "algorithm=two_shot"), make_row("all_reduce", 8, 1024),
            make_row("all_gather", 0, std::numeric_limits<std::int64_t>::max()), make_row("all_reduce", 1025, 2048, "")};
}

std::vector<std::byte> copy_of(const ConfigTable& table) {
    return {table.bytes().begin(), table.bytes().end()};
}

template <class T>
void put(std::vector<std::byte>& bytes, std::size_t at, T value) {
    std::vector<std::byte> encoded;
    append_little(encoded, value);
    std::copy(encoded.begin(), encoded.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
}

void expect_refused(const std::vector<std::byte>& bytes, std::string_view part) {
    tests::expect_error(ErrorCode::check_failed, part, [&bytes] { ConfigTable::from_bytes(bytes); });
}

TEST(ConfigTable, AnEmptyTableIsReadBackAndFindsNothing) {
    const ConfigTable empty;
    EXPECT_EQ(empty.size(), 0U);
    EXPECT_EQ(empty.digest(), ConfigTable::build({}).digest());
    EXPECT_EQ(ConfigTable::from_bytes(empty.bytes()).digest(), empty.digest());
    EXPECT_EQ(empty.find("any", 1), std::nullopt);
    EXPECT_EQ(empty.key_range("any"), (std::pair<std::size_t, std::size_t>{0, 0}));
}

TEST(ConfigTable, RowsComeBackSortedAndUnchanged) {
    std::vector<TableRow> rows = sample_rows();
    const ConfigTable table = ConfigTable::build(rows);
    std::sort(rows.begin(), rows.end(),
              [](const TableRow& a, const TableRow& b) { return std::pair(a.key.text(), a.low_bytes) < std::pair(b.key.text(), b.low_bytes); });
    ASSERT_EQ(table.size(), rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i)
        EXPECT_EQ(table.row(i), rows[i]) << i;
    const ConfigTable again = ConfigTable::from_bytes(table.bytes());
    EXPECT_EQ(copy_of(again), copy_of(table));
    for (std::size_t i = 0; i < rows.size(); ++i)
        EXPECT_EQ(again.row(i), rows[i]) << i;
    tests::expect_error(ErrorCode::failure, "outside", [&table] { table.row(5); });
}

TEST(ConfigTable, BytesAndDigestDoNotDependOnTheOrderOfRows) {
    std::vector<TableRow> rows = sample_rows();
    const ConfigTable table = ConfigTable::build(rows);
    std::mt19937 random(5);
    for (int i = 0; i < 10; ++i) {
        std::shuffle(rows.begin(), rows.end(), random);
        EXPECT_EQ(copy_of(ConfigTable::build(rows)), copy_of(table));
    }
    EXPECT_EQ(table.digest(), digest64(table.bytes()));
    rows[0].gain_high += 1e-9;
    EXPECT_NE(ConfigTable::build(rows).digest(), table.digest());
}

TEST(ConfigTable, FindKnowsBothEndsAndTheGaps) {
    const ConfigTable table = ConfigTable::build(sample_rows());
    const std::string key = make_row("all_reduce", 0, 0).key.text();
    const auto low_of = [&](std::uint64_t bytes) -> std::int64_t {
        const auto index = table.find(key, bytes);
        return index ? static_cast<std::int64_t>(table.row(*index).low_bytes) : -1;
    };
    EXPECT_EQ(low_of(0), -1);
    EXPECT_EQ(low_of(7), -1);
    EXPECT_EQ(low_of(8), 8);
    EXPECT_EQ(low_of(1024), 8);
    EXPECT_EQ(low_of(1025), 1025);
    EXPECT_EQ(low_of(2048), 1025);
    EXPECT_EQ(low_of(2049), -1);
    EXPECT_EQ(low_of(4096), 4096);
    EXPECT_EQ(low_of(8192), 4096);
    EXPECT_EQ(low_of(8193), -1);
    EXPECT_EQ(low_of(std::numeric_limits<std::uint64_t>::max()), -1);
    EXPECT_EQ(table.find("collective/all", 8), std::nullopt);
    EXPECT_EQ(table.find(key + "x", 8), std::nullopt);
    EXPECT_EQ(table.find("", 8), std::nullopt);
    EXPECT_EQ(table.key_range(key), (std::pair<std::size_t, std::size_t>{1, 4}));
    EXPECT_EQ(table.key_range("zzz"), (std::pair<std::size_t, std::size_t>{5, 5}));
}

TEST(ConfigTable, FindAgreesWithALinearSearch) {
    std::mt19937 random(6);
    std::vector<TableRow> rows;
    for (const std::string name : {"a", "b", "bb", "c"}) {
        std::uint64_t at = random() % 4;
        for (int i = 0; i < 40; ++i) {
            const std::uint64_t high = at + random() % 5;
            rows.push_back(make_row(name, at, high, random() % 2 == 0 ? "algorithm=ring" : "algorithm=bruck"));
            at = high + 1 + random() % 3;
        }
    }
    const ConfigTable table = ConfigTable::build(rows);
    for (const std::string name : {"a", "b", "ba", "bb", "c", "d"}) {
        for (std::uint64_t bytes = 0; bytes < 220; ++bytes) {
            const auto match = [&](const TableRow& row) { return row.key.collective == name && row.low_bytes <= bytes && bytes <= row.high_bytes; };
            const auto expected = std::find_if(rows.begin(), rows.end(), match);
            const auto found = table.find(make_row(name, 0, 0).key.text(), bytes);
            ASSERT_EQ(found.has_value(), expected != rows.end()) << name << bytes;
            if (found) {
                EXPECT_EQ(table.row(*found), *expected);
            }
        }
    }
}

TEST(ConfigTable, BuildRefusesOverlapsAndValuesNoTableMayHold) {
    const auto refused = [](std::string_view part, std::vector<TableRow> rows) {
        tests::expect_error(ErrorCode::failure, part, [&rows] { ConfigTable::build(std::move(rows)); });
    };
    refused("overlap", {make_row("a", 0, 10), make_row("a", 10, 20)});
    refused("overlap", {make_row("a", 5, 6), make_row("a", 0, 10)});
    refused("overlap", {make_row("a", 5, 6), make_row("a", 5, 6)});
    refused("interval of bytes", {make_row("a", 11, 10)});
    refused("interval of bytes", {make_row("a", 0, std::numeric_limits<std::uint64_t>::max())});
    const auto changed = [](auto&& change) {
        TableRow row = make_row("a", 0, 1);
        change(row);
        return std::vector<TableRow>{row};
    };
    refused("gain", changed([](TableRow& row) { row.gain = std::nan(""); }));
    refused("gain", changed([](TableRow& row) { row.gain_low = 0; }));
    refused("gain", changed([](TableRow& row) { row.gain_high = std::numeric_limits<double>::infinity(); }));
    refused("exchanged", changed([](TableRow& row) { row.gain_low = 2; }));
    refused("time", changed([](TableRow& row) { row.best_ns = -1; }));
    refused("time", changed([](TableRow& row) { row.default_ns = std::nan(""); }));
    refused("instruction set", changed([](TableRow& row) { row.instruction_set = "avx 2"; }));
    refused("1024", changed([](TableRow& row) { row.instruction_set = std::string(1025, 'a'); }));
    refused("empty field", changed([](TableRow& row) { row.key.op = ""; }));
    EXPECT_EQ(ConfigTable::build({make_row("a", 0, 10), make_row("a", 11, 20), make_row("b", 5, 15)}).size(), 3U);
}

// Each field of the header and of a record is changed by hand.
TEST(ConfigTable, EveryFieldIsChecked) {
    const std::vector<std::byte> good = copy_of(ConfigTable::build(sample_rows()));
    const auto changed = [&good](std::size_t at, auto value) {
        std::vector<std::byte> bytes = good;
        put(bytes, at, value);
        return bytes;
    };
    const std::size_t first = header_bytes, second = header_bytes + record_bytes;
    expect_refused(changed(0, std::uint32_t{0}), "magic");
    expect_refused(changed(8, std::uint32_t{2}), "has format 2; this program reads format 1");
    expect_refused(changed(12, std::uint32_t{95}), "record size");
    expect_refused(changed(16, std::uint64_t{4}), "length");
    expect_refused(changed(16, ~std::uint64_t{0}), "length");
    expect_refused(changed(16, std::uint64_t{1} << 60), "length");
    expect_refused(changed(24, ~std::uint64_t{0}), "length");
    expect_refused(changed(first, std::uint32_t{1}), "not where the one before ends");
    expect_refused(changed(first, ~std::uint32_t{0}), "not where the one before ends");
    expect_refused(changed(first + 4, ~std::uint32_t{0}), "too long");
    expect_refused(changed(first + 4, std::uint32_t{0}), "fields");
    expect_refused(changed(second + 8, std::uint32_t{0}), "not where the one before ends");
    expect_refused(changed(first + table_format::at_low, ~std::uint64_t{0}), "interval of bytes");
    expect_refused(changed(first + table_format::at_high, ~std::uint64_t{0}), "interval of bytes");
    for (std::size_t i = 0; i < table_format::double_count; ++i) {
        const auto negative = std::bit_cast<std::uint64_t>(-1.0);
        const auto nan = std::bit_cast<std::uint64_t>(std::nan(""));
        expect_refused(changed(first + table_format::at_doubles + i * 8, negative), "row 0");
        expect_refused(changed(first + table_format::at_doubles + i * 8, nan), "row 0");
    }
    std::vector<std::byte> longer = good;
    longer.push_back(std::byte{'x'});
    expect_refused(longer, "length");
    put(longer, 24, static_cast<std::uint64_t>(longer.size() - header_bytes - 5 * record_bytes));
    expect_refused(longer, "belong to no row");
    expect_refused({}, "too few");
}

TEST(ConfigTable, OrderOverlapAndSpellingAreChecked) {
    const ConfigTable table = ConfigTable::build({make_row("a", 0, 10), make_row("a", 20, 30)});
    std::vector<std::byte> bytes = copy_of(table);
    put(bytes, header_bytes + record_bytes + table_format::at_low, std::uint64_t{10});
    expect_refused(bytes, "overlap");
    // Two keys of equal length in the string area, exchanged: the places stay right and only the order is wrong.
    const ConfigTable two = ConfigTable::build({make_row("aa", 0, 10), make_row("bb", 0, 10)});
    bytes = copy_of(two);
    const auto replace = [&bytes](std::string_view from, std::string_view to) {
        const auto pattern = std::as_bytes(std::span(from.data(), from.size()));
        const auto found = std::search(bytes.begin(), bytes.end(), pattern.begin(), pattern.end());
        ASSERT_NE(found, bytes.end());
        std::ranges::copy(std::as_bytes(std::span(to.data(), to.size())), found);
    };
    replace("/aa/", "/cc/");
    expect_refused(bytes, "order");
    bytes = copy_of(two);
    replace("/aa/", "/bb/");
    expect_refused(bytes, "stored twice");
    bytes = copy_of(two);
    replace("segment_bytes=64K", "segment_bytes=64k");
    expect_refused(bytes, "canonical");
    bytes = copy_of(two);
    replace("algorithm=ring", "algoritmh=ring");
    expect_refused(bytes, "did you mean 'algorithm'?");
}

TEST(ConfigTable, EveryTruncationIsRefused) {
    const std::vector<std::byte> good = copy_of(ConfigTable::build(sample_rows()));
    for (std::size_t length = 0; length < good.size(); ++length) {
        EXPECT_THROW(ConfigTable::from_bytes(std::span(good).first(length)), Error) << length;
    }
}

// What still parses after a flip is a table that behaves and whose digest differs, so the agreement of the ranks catches it.
void expect_refused_or_caught(const std::vector<std::byte>& bytes, const ConfigTable& good) {
    try {
        const ConfigTable table = ConfigTable::from_bytes(bytes);
        EXPECT_NE(table.digest(), good.digest());
        std::vector<TableRow> rows;
        for (std::size_t i = 0; i < table.size(); ++i) {
            rows.push_back(table.row(i));
            EXPECT_EQ(table.find(rows.back().key.text(), rows.back().low_bytes), i);
            EXPECT_EQ(table.find(rows.back().key.text(), rows.back().high_bytes), i);
        }
        EXPECT_EQ(copy_of(ConfigTable::build(rows)), bytes) << "only canonical bytes are accepted";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::check_failed) << error.what();
    }
}

TEST(ConfigTable, EverySingleBitFlipIsRefusedOrCaughtByTheDigest) {
    const ConfigTable good = ConfigTable::build(sample_rows());
    std::vector<std::byte> bytes = copy_of(good);
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
        const std::byte mask = std::byte{1} << (bit % 8);
        bytes[bit / 8] ^= mask;
        expect_refused_or_caught(bytes, good);
        bytes[bit / 8] ^= mask;
    }
}

TEST(ConfigTable, RandomDamageIsRefusedOrCaughtByTheDigest) {
    const ConfigTable good = ConfigTable::build(sample_rows());
    std::mt19937 random(7);
    for (int trial = 0; trial < 3000; ++trial) {
        std::vector<std::byte> bytes = copy_of(good);
        for (unsigned int n = 1 + random() % 8; n > 0; --n)
            bytes[random() % bytes.size()] = static_cast<std::byte>(random());
        if (random() % 4 == 0) bytes.resize(random() % (2 * bytes.size()));
        if (bytes == copy_of(good)) continue;
        expect_refused_or_caught(bytes, good);
    }
}

TEST(ConfigTable, RandomNoiseBehindAValidHeaderIsRefused) {
    std::mt19937 random(8);
    for (int trial = 0; trial < 300; ++trial) {
        const std::size_t rows = random() % 4;
        std::vector<std::byte> bytes = copy_of(ConfigTable());
        const std::size_t strings = 1 + random() % 200;
        put(bytes, 16, static_cast<std::uint64_t>(rows));
        put(bytes, 24, static_cast<std::uint64_t>(strings));
        for (std::size_t i = 0; i < rows * record_bytes + strings; ++i)
            bytes.push_back(static_cast<std::byte>(random()));
        expect_refused(bytes, "corrupt");
    }
}

}  // namespace
}  // namespace attune::core
