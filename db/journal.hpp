// The work database one tuner writes: every trial committed before the next starts. SQLite, rollback journal, one writer, local disk.
#pragma once

#include "db/fingerprint.hpp"
#include "libcore/config.hpp"
#include "libcore/key.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attune::db {

enum class Outcome : std::uint8_t { ok, wrong, failed, timeout, noisy };
std::string_view name_of(Outcome outcome) noexcept;
bool is_failure(Outcome outcome) noexcept;  // the config ran wrong or not to its end; noise is no failure

// One block: one candidate and the default alternated on one problem. ratio = default / candidate of the block's medians.
struct Trial {
    std::int64_t id = 0;  // given by record()
    std::string run;      // id of the tuning run
    std::string phase;    // "floor", "search", "confirm", "recheck"
    core::Key key;
    std::uint64_t bytes = 0;
    core::Config config;  // equal to default_config in phase "floor"
    core::Config default_config;
    std::uint32_t default_version = 0;
    std::uint32_t algorithm_version = 0;
    Outcome outcome = Outcome::ok;
    std::string message;    // why not ok
    std::string launch;     // id of the team
    std::string placement;  // class, empty when not ok
    double round_trip_ns = 0;
    std::uint64_t batch = 1;
    std::vector<double> default_ns;  // raw samples, per iteration maxima over ranks
    std::vector<double> config_ns;
    double ratio = 0;
    std::string utc;

    // What a publication rests on, beside the search that named it.
    bool is_evidence() const noexcept { return phase == "confirm" || phase == "recheck"; }
};

struct CutSet {
    std::string id;  // digest of the cuts
    std::vector<double> upper_ns;
};

// Throws Error: busy (names the pid and host of the holder), check_failed (not a journal, newer, corrupt: file and reason), failure (disk full,
// read-only: the path and the remedy). A trial whose row digest does not match is skipped when reading and counted.
class Journal {
public:
    // Creates or opens. The holder is recorded in a lock file beside it, checked for life.
    static Journal open(const std::string& path, const Identity& identity, const std::vector<std::pair<std::string, std::string>>& context);
    // Read-only, without the holder lock, for attune-db and attune-lookup.
    static Journal open_for_reading(const std::string& path);
    ~Journal();
    Journal(Journal&&) noexcept;
    Journal& operator=(Journal&&) noexcept;

    std::int64_t record(const Trial& trial);  // returns when it is on disk
    std::vector<Trial> trials(const Identity& identity) const;
    std::size_t damaged() const;  // rows skipped so far
    void store_cuts(const CutSet& cuts);
    std::optional<CutSet> cuts() const;  // newest of this identity; of any when opened for reading
    std::optional<CutSet> cuts(const Identity& identity) const;
    // Small named values of a run (resume state): budget left, ladder, options.
    void set_value(const std::string& name, const std::string& value);
    std::optional<std::string> value(const std::string& name) const;
    std::vector<Identity> identities() const;
    std::vector<std::pair<std::string, std::string>> context(const Identity& identity) const;  // by name

private:
    struct State;
    explicit Journal(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

// Whether the file says of itself that it is a journal, an empty one by its name; false for anything that cannot be read.
bool is_journal(const std::string& path);

// "x.attune.db" -> "x.attune.journal", same folder.
std::string journal_path_of(const std::string& release_path);

}  // namespace attune::db
