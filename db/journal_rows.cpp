#include "db/journal_rows.hpp"

#include "db/row_digest.hpp"
#include "libcore/error.hpp"

#include <array>
#include <limits>

namespace attune::db {

using core::Error;
using core::ErrorCode;

namespace {

constexpr std::array outcomes = {Outcome::ok, Outcome::wrong, Outcome::failed, Outcome::timeout, Outcome::noisy};
constexpr std::array<std::string_view, 5> outcome_names = {"ok", "wrong", "failed", "timeout", "noisy"};

Outcome parse_outcome(std::string_view text) {
    for (const Outcome outcome : outcomes) {
        if (name_of(outcome) == text) return outcome;
    }
    throw Error(ErrorCode::check_failed, "unknown outcome");
}

std::int64_t as_integer(std::uint64_t value, const char* what) {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        throw Error(ErrorCode::failure, std::string(what) + " " + std::to_string(value) + " is above the largest storable value, 2^63 - 1");
    }
    return static_cast<std::int64_t>(value);
}

std::uint32_t as_version(std::int64_t value) {
    if (value < 0 || value > std::numeric_limits<std::uint32_t>::max()) throw Error(ErrorCode::check_failed, "version out of range");
    return static_cast<std::uint32_t>(value);
}

// Over everything a trial says, in the order of the columns.
std::int64_t digest_of(const std::string& identity_digest, const Trial& trial) {
    RowDigest digest;
    digest.add(identity_digest).add(trial.run).add(trial.phase).add(trial.key.text()).add(trial.bytes);
    digest.add(trial.config.text()).add(trial.default_config.text());
    digest.add(std::int64_t{trial.default_version}).add(std::int64_t{trial.algorithm_version});
    digest.add(name_of(trial.outcome)).add(trial.message).add(trial.launch).add(trial.placement);
    digest.add(trial.round_trip_ns).add(trial.batch).add(std::span<const double>(trial.default_ns)).add(std::span<const double>(trial.config_ns));
    digest.add(trial.ratio).add(trial.utc);
    return digest.integer();
}

}  // namespace

std::string_view name_of(Outcome outcome) noexcept {
    return outcome_names[static_cast<std::size_t>(outcome)];
}

bool is_failure(Outcome outcome) noexcept {
    return outcome == Outcome::wrong || outcome == Outcome::failed || outcome == Outcome::timeout;
}

std::int64_t insert_trial(Database& database, std::int64_t identity, const std::string& identity_digest, const Trial& trial) {
    Statement insert(
        database,
        "INSERT INTO trial(identity, run, phase, key, bytes, config, default_config, default_version, algorithm_version, outcome, message, launch, "
        "placement, round_trip_ns, batch, default_ns, config_ns, ratio, utc, digest) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
    insert.bind(identity).bind(trial.run).bind(trial.phase).bind(trial.key.text()).bind(as_integer(trial.bytes, "size"));
    insert.bind(trial.config.text()).bind(trial.default_config.text());
    insert.bind(std::int64_t{trial.default_version}).bind(std::int64_t{trial.algorithm_version});
    insert.bind(name_of(trial.outcome)).bind(trial.message).bind(trial.launch).bind(trial.placement);
    insert.bind(trial.round_trip_ns).bind(as_integer(trial.batch, "batch"));
    insert.bind(std::span<const double>(trial.default_ns)).bind(std::span<const double>(trial.config_ns));
    insert.bind(trial.ratio).bind(trial.utc).bind(digest_of(identity_digest, trial));
    insert.run();
    return sqlite3_last_insert_rowid(database.handle());
}

TrialReader::TrialReader(const Database& database, std::int64_t identity, std::string identity_digest)
    : query_(database,
             "SELECT id, run, phase, key, bytes, config, default_config, default_version, algorithm_version, outcome, message, launch, placement, "
             "round_trip_ns, batch, default_ns, config_ns, ratio, utc, digest FROM trial WHERE identity = ? ORDER BY id"),
      identity_digest_(std::move(identity_digest)) {
    query_.bind(identity);
}

bool TrialReader::next() {
    if (!query_.step()) return false;
    id_ = query_.integer();
    return true;
}

std::optional<Trial> TrialReader::trial() try {
    Trial trial;
    trial.id = id_;
    trial.run = query_.text();
    trial.phase = query_.text();
    trial.key = core::Key::parse(query_.text());
    trial.bytes = static_cast<std::uint64_t>(query_.integer());
    trial.config = core::Config::parse(query_.text());
    trial.default_config = core::Config::parse(query_.text());
    trial.default_version = as_version(query_.integer());
    trial.algorithm_version = as_version(query_.integer());
    trial.outcome = parse_outcome(query_.text());
    trial.message = query_.text();
    trial.launch = query_.text();
    trial.placement = query_.text();
    trial.round_trip_ns = query_.real();
    trial.batch = static_cast<std::uint64_t>(query_.integer());
    trial.default_ns = query_.doubles();
    trial.config_ns = query_.doubles();
    trial.ratio = query_.real();
    trial.utc = query_.text();
    if (query_.integer() != digest_of(identity_digest_, trial)) return std::nullopt;
    return trial;
} catch (const Error&) {
    return std::nullopt;  // one damaged row costs that row, not the file
}

}  // namespace attune::db
