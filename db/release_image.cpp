#include "db/release_image.hpp"

#include "db/one_line.hpp"
#include "db/footer.hpp"
#include "db/release_rows.hpp"
#include "db/schema.hpp"
#include "db/sqlite.hpp"
#include "libcore/crypto.hpp"
#include "libcore/error.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <tuple>

namespace attune::db {

using core::Error;
using core::ErrorCode;

namespace {

constexpr double open_end = std::numeric_limits<double>::infinity();  // upper end of the last placement class
constexpr std::size_t most_cuts = 3;

bool ascending(std::span<const double> cuts) {
    return std::ranges::all_of(cuts, [](double cut) { return std::isfinite(cut) && cut > 0; }) && std::ranges::is_sorted(cuts, std::less_equal<>());
}

core::ConfigTable table_of(const std::vector<ReleaseRow>& rows, const Identity& identity) {
    std::vector<core::TableRow> own;
    for (const ReleaseRow& row : rows) {
        if (row.identity == identity) own.push_back(row.row);
    }
    return core::ConfigTable::build(std::move(own));
}

std::string digest_text(const core::ConfigTable& table) {
    const core::Digest full = core::sha256(table.bytes());
    return core::hex(std::span(full).first(8));
}

void insert_pairs(Database& database, const std::string& table, const std::vector<std::pair<std::string, std::string>>& pairs) {
    Statement insert(database, "INSERT OR REPLACE INTO " + table + " VALUES(?, ?)");
    for (const auto& [name, value] : pairs)
        insert.bind(clean_text(name)).bind(clean_text(value)).run();
}

void insert_cuts(Database& database, const std::vector<CutSet>& sets) {
    Statement insert(database, "INSERT INTO placement_cut VALUES(?, ?, ?)");
    for (const CutSet& set : sets) {
        for (std::size_t i = 0; i <= set.upper_ns.size(); ++i) {
            insert.bind(set.id).bind("c" + std::to_string(i)).bind(i < set.upper_ns.size() ? set.upper_ns[i] : open_end).run();
        }
    }
}

void insert_content(Database& database, const ReleaseContent& content) {
    Transaction transaction(database);
    insert_pairs(database, "meta", {{"utc", content.utc}, {"tool_version", content.tool_version}});
    insert_pairs(database, "context", content.context);
    insert_cuts(database, content.cuts);
    Statement identity(database, "INSERT INTO identity(id, digest, text) VALUES(?, ?, ?)");
    Statement blob(database, "INSERT INTO table_blob VALUES(?, ?, ?)");
    std::int64_t next_row = 1;
    for (std::size_t i = 0; i < content.identities.size(); ++i) {
        const Identity& machine = content.identities[i];
        const auto id = static_cast<std::int64_t>(i + 1);
        identity.bind(id).bind(machine.digest()).bind(machine.text()).run();
        const core::ConfigTable table = table_of(content.rows, machine);
        blob.bind(id).bind(table.bytes()).bind(digest_text(table)).run();
        for (const ReleaseRow& row : content.rows) {
            if (row.identity == machine) insert_row(database, next_row++, id, row);
        }
    }
    transaction.commit();
}

std::vector<std::pair<std::string, std::string>> read_pairs(Database& database, const std::string& table) {
    std::vector<std::pair<std::string, std::string>> out;
    Statement query(database, "SELECT name, value FROM " + table + " ORDER BY name");
    while (query.step()) {
        std::string name = read_clean(query);
        out.emplace_back(std::move(name), read_clean(query));
    }
    return out;
}

std::vector<Identity> read_identities(Database& database) {
    std::vector<Identity> out;
    Statement query(database, "SELECT id, digest, text FROM identity ORDER BY id");
    while (query.step()) {
        const std::int64_t id = query.integer();
        const std::string digest = read_clean(query);
        Identity identity = Identity::parse(read_clean(query));
        if (id != static_cast<std::int64_t>(out.size() + 1) || digest != identity.digest()) throw Error(ErrorCode::check_failed, "identity digest mismatch");
        out.push_back(std::move(identity));
    }
    return out;
}

std::vector<CutSet> read_cuts(Database& database) {
    std::map<std::string, std::vector<double>> sets;
    Statement query(database, "SELECT cut_set, class, upper_ns FROM placement_cut ORDER BY cut_set, class");
    while (query.step()) {
        std::vector<double>& ends = sets[read_clean(query)];
        if (read_clean(query) != "c" + std::to_string(ends.size())) throw Error(ErrorCode::check_failed, "a placement class is missing");
        ends.push_back(query.real());
    }
    std::vector<CutSet> out;
    for (auto& [id, ends] : sets) {
        const double last = ends.back();
        ends.pop_back();
        if (last != open_end || ends.size() > most_cuts || !ascending(ends)) throw Error(ErrorCode::check_failed, "impossible placement cuts");
        out.push_back({id, std::move(ends)});
    }
    return out;
}

// The stored flat table of every identity must be, byte for byte, what its rows give.
void check_blobs(Database& database, const ReleaseContent& content) {
    std::size_t seen = 0;
    Statement query(database, "SELECT identity, bytes, digest FROM table_blob ORDER BY identity");
    while (query.step()) {
        if (query.integer() != static_cast<std::int64_t>(seen + 1) || seen >= content.identities.size()) {
            throw Error(ErrorCode::check_failed, "a stored table belongs to no identity");
        }
        const core::ConfigTable table = table_of(content.rows, content.identities[seen]);
        if (!std::ranges::equal(query.blob(), table.bytes())) throw Error(ErrorCode::check_failed, "the stored table differs from the rows");
        if (read_clean(query) != digest_text(table)) throw Error(ErrorCode::check_failed, "digest mismatch of a stored table");
        ++seen;
    }
    if (seen != content.identities.size()) throw Error(ErrorCode::check_failed, "the stored table of an identity is missing");
}

std::uint32_t big_endian(std::span<const std::byte> bytes, std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i)
        value = value << 8 | std::to_integer<std::uint32_t>(bytes[at + i]);
    return value;
}

// What SQLite's file header says (https://sqlite.org/fileformat.html 1.3), before SQLite sees the bytes. The image has at least 512 bytes.
void check_image_header(std::span<const std::byte> image, const std::string& path) {
    const auto damaged = [&path](const std::string& reason) { return ReleaseError(ReleaseError::Kind::damaged, path, reason); };
    if (std::memcmp(image.data(), "SQLite format 3", 16) != 0) throw damaged("no SQLite database before the footer");
    if (big_endian(image, 68) != release_application_id) throw damaged("not a release of attune (other application id)");
    const std::uint32_t version = big_endian(image, 60);
    if (version > schema_version) {
        throw ReleaseError(
            ReleaseError::Kind::newer, path,
            "newer format: its schema is " + std::to_string(version) + ", this attune reads up to " + std::to_string(schema_version) + "; update attune");
    }
    if (version != schema_version) throw damaged("schema version 0");
    if (image[18] != std::byte{1} || image[19] != std::byte{1}) throw damaged("needs a write-ahead log");
    const std::uint32_t page = std::to_integer<std::uint32_t>(image[16]) << 8 | std::to_integer<std::uint32_t>(image[17]);
    const std::uint64_t page_size = page == 1 ? 65536 : page;
    if (page_size * big_endian(image, 28) != image.size()) throw damaged("page count and length differ");
}

std::string named(const std::vector<std::pair<std::string, std::string>>& pairs, const std::string& name) {
    const auto found = std::ranges::find(pairs, name, &std::pair<std::string, std::string>::first);
    if (found == pairs.end()) throw Error(ErrorCode::check_failed, "'" + name + "' is missing");
    return found->second;
}

ReleaseContent read_content(Database& database) {
    require_schema(database, release_schema());
    ReleaseContent content;
    const auto meta = read_pairs(database, "meta");
    content.utc = named(meta, "utc");
    content.tool_version = named(meta, "tool_version");
    content.context = read_pairs(database, "context");
    content.identities = read_identities(database);
    content.cuts = read_cuts(database);
    content.rows = read_rows(database, content.identities);
    check_blobs(database, content);
    return content;
}

}  // namespace

void normalize(ReleaseContent& content) {
    for (ReleaseRow& row : content.rows) {
        if (std::ranges::find(content.identities, row.identity) == content.identities.end()) content.identities.push_back(row.identity);
        std::ranges::sort(row.evidence.classes, {}, &ClassGain::placement);
        check_row(row);
        row.id = digest_of(row);
    }
    for (const CutSet& set : content.cuts) {
        if (set.upper_ns.size() > most_cuts || !ascending(set.upper_ns)) throw Error(ErrorCode::failure, "cut set '" + set.id + "' has impossible cuts");
    }
    const auto by_text = [](const Identity& identity) { return identity.text(); };
    std::ranges::sort(content.identities, {}, by_text);
    const auto twins = std::ranges::unique(content.identities);
    content.identities.erase(twins.begin(), twins.end());
    std::ranges::sort(content.cuts, {}, &CutSet::id);
    const auto same_cuts = std::ranges::unique(content.cuts, {}, &CutSet::id);
    content.cuts.erase(same_cuts.begin(), same_cuts.end());
    std::ranges::sort(content.rows, {}, [](const ReleaseRow& row) { return std::tuple(row.identity.text(), row.row.key.text(), row.row.low_bytes); });
    std::ranges::sort(content.context);
}

void write_image(const ReleaseContent& content, const std::string& path) {
    Database build = Database::in_memory(path);
    build.execute("PRAGMA page_size=4096; PRAGMA foreign_keys=ON");
    build.execute("PRAGMA application_id=" + std::to_string(release_application_id) + "; PRAGMA user_version=" + std::to_string(schema_version));
    build.execute(std::string(release_schema()));
    insert_content(build, content);
    Statement vacuum(build, "VACUUM INTO ?");
    vacuum.bind(path).run();
    Database sealed = Database::open(path, SQLITE_OPEN_READONLY);
    const std::string verdict = sealed.text("PRAGMA integrity_check(1)");
    Statement foreign(sealed, "PRAGMA foreign_key_check");
    if (verdict != "ok" || foreign.step())
        throw Error(ErrorCode::failure, one_line(path) + ": the database just written fails its own check: " + one_line(verdict));
}

ReleaseContent parse_image(std::span<std::byte> image, const std::string& path) {
    check_image_header(image, path);
    try {
        Database database = Database::over_image(image, "database");
        return read_content(database);
    } catch (const std::exception& error) {
        throw ReleaseError(ReleaseError::Kind::damaged, path, error.what());
    }
}

}  // namespace attune::db
