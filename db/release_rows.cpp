#include "db/release_rows.hpp"

#include "db/row_digest.hpp"
#include "libcore/error.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

namespace attune::db {

using core::Error;
using core::ErrorCode;

namespace {

constexpr std::array<std::string_view, 5> classes = {"c0", "c1", "c2", "c3", "oversubscribed"};
constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

// Bytes of the UTF-8 sequence that starts `text`, 0 when it is malformed, overlong, a surrogate or a control character.
std::size_t clean_sequence(std::string_view text) noexcept {
    const auto byte = [&text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byte(0);
    if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
    const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
    char32_t code = first & (0xffU >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return 0;
        code = (code << 6) | (byte(i) & 0x3fU);
    }
    constexpr std::array<char32_t, 5> smallest = {0, 0, 0xa0, 0x800, 0x10000};
    const bool surrogate = code >= 0xd800 && code <= 0xdfff;
    return code < smallest[length] || surrogate || code > 0x10ffff ? 0 : length;
}

bool positive(double value) {
    return std::isfinite(value) && value > 0;
}

const char* gain_problem(const ClassGain& gain) {
    if (std::ranges::find(classes, gain.placement) == classes.end()) return "unknown placement class";
    if (!positive(gain.ratio) || !positive(gain.low) || !positive(gain.high) || gain.low > gain.high) return "impossible gain of a class";
    return gain.blocks > largest ? "impossible number of blocks" : nullptr;
}

const char* table_row_problem(const core::TableRow& row) {
    if (row.low_bytes > row.high_bytes || row.high_bytes > largest) return "impossible interval of bytes";
    if (row.key.ranks < 1) return "fewer than one rank";
    if (row.config.empty() || row.default_config.empty()) return "empty config";
    if (row.instruction_set.empty()) return "no instruction set";
    if (!positive(row.default_ns) || !positive(row.best_ns)) return "impossible time";
    if (!positive(row.gain) || !positive(row.gain_low) || !positive(row.gain_high) || row.gain_low > row.gain_high) return "impossible gain";
    return nullptr;
}

const char* evidence_problem(const Evidence& evidence) {
    if (!std::isfinite(evidence.floor) || evidence.floor < 0) return "impossible noise floor";
    if (!(evidence.p_value >= 0 && evidence.p_value <= 1)) return "impossible probability";
    if (std::max({evidence.launches, evidence.blocks, evidence.candidates}) > largest) return "impossible count";
    for (const std::string* text : {&evidence.verification, &evidence.run, &evidence.utc, &evidence.cut_set}) {
        if (!is_clean_text(*text)) return "unprintable text";
    }
    return nullptr;
}

// The first thing wrong with a row, or null.
const char* problem_of(const ReleaseRow& row) {
    if (const char* problem = table_row_problem(row.row)) return problem;
    if (const char* problem = evidence_problem(row.evidence)) return problem;
    for (const ClassGain& gain : row.evidence.classes) {
        if (const char* problem = gain_problem(gain)) return problem;
    }
    return nullptr;
}

std::string key_name(const ReleaseRow& row) {
    return row.row.key.text() + " from " + std::to_string(row.row.low_bytes) + " B";
}

std::uint64_t read_count(Statement& query) {
    const std::int64_t value = query.integer();
    if (value < 0) throw Error(ErrorCode::check_failed, "negative count");
    return static_cast<std::uint64_t>(value);
}

std::uint32_t read_version(Statement& query) {
    const std::uint64_t value = read_count(query);
    if (value > std::numeric_limits<std::uint32_t>::max()) throw Error(ErrorCode::check_failed, "version out of range");
    return static_cast<std::uint32_t>(value);
}

bool read_flag(Statement& query) {
    const std::int64_t value = query.integer();
    if (value != 0 && value != 1) throw Error(ErrorCode::check_failed, "a flag that is neither 0 nor 1");
    return value == 1;
}

// A config in any but its canonical text would have two digests.
core::Config read_config(Statement& query) {
    const std::string text = read_clean(query);
    core::Config config = core::Config::parse(text);
    if (config.text() != text) throw Error(ErrorCode::check_failed, "config '" + text + "' is not in canonical form");
    return config;
}

core::Key read_key(Statement& query) {
    std::string text = read_clean(query);
    for (int field = 1; field < 13; ++field)
        text += '/' + (field == 4 ? std::to_string(query.integer()) : read_clean(query));
    return core::Key::parse(text);
}

core::TableRow read_table_row(Statement& query) {
    core::TableRow row;
    row.key = read_key(query);
    row.low_bytes = read_count(query);
    row.high_bytes = read_count(query);
    row.config = read_config(query);
    row.default_config = read_config(query);
    row.default_version = read_version(query);
    row.algorithm_version = read_version(query);
    row.instruction_set = read_clean(query);
    row.default_ns = query.real();
    row.best_ns = query.real();
    row.gain = query.real();
    row.gain_low = query.real();
    row.gain_high = query.real();
    return row;
}

Evidence read_evidence(Statement& query) {
    Evidence evidence;
    evidence.launches = read_count(query);
    evidence.blocks = read_count(query);
    evidence.floor = query.real();
    evidence.p_value = query.real();
    evidence.candidates = read_count(query);
    evidence.complete = read_flag(query);
    evidence.verification = read_clean(query);
    evidence.run = read_clean(query);
    evidence.utc = read_clean(query);
    evidence.cut_set = read_clean(query);
    return evidence;
}

// Gains per class by row, in the order of their classes' names.
std::map<std::int64_t, std::vector<std::pair<std::string, ClassGain>>> read_gains(Database& database) {
    std::map<std::int64_t, std::vector<std::pair<std::string, ClassGain>>> out;
    Statement query(database, "SELECT row, cut_set, class, blocks, ratio, ci_low, ci_high FROM row_gain ORDER BY row, class");
    while (query.step()) {
        const std::int64_t row = query.integer();
        std::string cut_set = read_clean(query);
        ClassGain gain;
        gain.placement = read_clean(query);
        gain.blocks = read_count(query);
        gain.ratio = query.real();
        gain.low = query.real();
        gain.high = query.real();
        out[row].emplace_back(std::move(cut_set), std::move(gain));
    }
    return out;
}

}  // namespace

bool is_clean_text(std::string_view text) noexcept {
    if (text.size() > longest_text) return false;
    while (!text.empty()) {
        const std::size_t length = clean_sequence(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

std::string clean_text(std::string_view text) {
    std::string out;
    text = text.substr(0, longest_text);
    while (!text.empty()) {
        const std::size_t length = clean_sequence(text);
        out += length == 0 ? std::string_view("?") : text.substr(0, length);
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return out;
}

std::string read_clean(Statement& query) {
    std::string text = query.text();
    if (!is_clean_text(text)) throw Error(ErrorCode::check_failed, "overlong or unprintable text");
    return text;
}

std::string digest_of(const ReleaseRow& release_row) {
    const core::TableRow& row = release_row.row;
    const Evidence& evidence = release_row.evidence;
    RowDigest digest;
    digest.add(release_row.identity.text()).add(row.key.text()).add(row.low_bytes).add(row.high_bytes);
    digest.add(row.config.text()).add(row.default_config.text());
    digest.add(std::int64_t{row.default_version}).add(std::int64_t{row.algorithm_version}).add(row.instruction_set);
    digest.add(row.default_ns).add(row.best_ns).add(row.gain).add(row.gain_low).add(row.gain_high);
    digest.add(evidence.launches).add(evidence.blocks).add(evidence.floor).add(evidence.p_value).add(evidence.candidates);
    digest.add(std::int64_t{evidence.complete}).add(evidence.verification).add(evidence.run).add(evidence.utc).add(evidence.cut_set);
    for (const ClassGain& gain : evidence.classes)
        digest.add(gain.placement).add(gain.blocks).add(gain.ratio).add(gain.low).add(gain.high);
    return digest.hex();
}

void check_row(const ReleaseRow& row) {
    if (const char* problem = problem_of(row)) throw Error(ErrorCode::failure, "row " + key_name(row) + ": " + problem);
}

void insert_row(Database& database, std::int64_t id, std::int64_t identity, const ReleaseRow& release_row) {
    const core::TableRow& row = release_row.row;
    const core::Key& key = row.key;
    const Evidence& evidence = release_row.evidence;
    Statement insert(database, "INSERT INTO row VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
    insert.bind(id).bind(identity).bind(key.target).bind(key.collective).bind(key.dtype_class).bind(key.op).bind(std::int64_t{key.ranks});
    insert.bind(key.node_map).bind(key.root_class).bind(key.transport).bind(key.in_place ? "in" : "out").bind(key.buffers);
    insert.bind(key.determinism).bind(key.objective).bind(key.binding);
    insert.bind(static_cast<std::int64_t>(row.low_bytes)).bind(static_cast<std::int64_t>(row.high_bytes));
    insert.bind(row.config.text()).bind(row.default_config.text());
    insert.bind(std::int64_t{row.default_version}).bind(std::int64_t{row.algorithm_version}).bind(row.instruction_set);
    insert.bind(row.default_ns).bind(row.best_ns).bind(row.gain).bind(row.gain_low).bind(row.gain_high);
    insert.bind(static_cast<std::int64_t>(evidence.launches)).bind(static_cast<std::int64_t>(evidence.blocks));
    insert.bind(evidence.floor).bind(evidence.p_value).bind(static_cast<std::int64_t>(evidence.candidates));
    insert.bind(std::int64_t{evidence.complete}).bind(evidence.verification).bind(evidence.run).bind(evidence.utc).bind(evidence.cut_set);
    insert.bind(digest_of(release_row)).run();
    Statement gains(database, "INSERT INTO row_gain VALUES(?,?,?,?,?,?,?)");
    for (const ClassGain& gain : evidence.classes) {
        gains.bind(id).bind(evidence.cut_set).bind(gain.placement).bind(static_cast<std::int64_t>(gain.blocks));
        gains.bind(gain.ratio).bind(gain.low).bind(gain.high).run();
    }
}

std::vector<ReleaseRow> read_rows(Database& database, const std::vector<Identity>& identities) {
    auto gains = read_gains(database);
    std::vector<ReleaseRow> out;
    Statement query(database, "SELECT * FROM row ORDER BY id");
    while (query.step())
        try {
            const std::int64_t id = query.integer();
            const std::uint64_t identity = read_count(query);
            if (identity < 1 || identity > identities.size()) throw Error(ErrorCode::check_failed, "unknown identity");
            ReleaseRow row;
            row.identity = identities[identity - 1];
            row.row = read_table_row(query);
            row.evidence = read_evidence(query);
            for (auto& [cut_set, gain] : gains[id]) {
                if (cut_set != row.evidence.cut_set) throw Error(ErrorCode::check_failed, "gains of another cut set");
                row.evidence.classes.push_back(std::move(gain));
            }
            gains.erase(id);
            if (const char* problem = problem_of(row)) throw Error(ErrorCode::check_failed, problem);
            row.id = read_clean(query);
            if (row.id != digest_of(row)) throw Error(ErrorCode::check_failed, "row digest mismatch");
            out.push_back(std::move(row));
        } catch (const Error& error) {
            throw Error(ErrorCode::check_failed, "row " + std::to_string(out.size() + 1) + ": " + error.what());
        }
    if (!gains.empty()) throw Error(ErrorCode::check_failed, "gains without a row");
    return out;
}

}  // namespace attune::db
