// The one file that reads environment variables. The list is complete; anything else named ATTUNE_* is warned about.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attune::core {

// Values as given, absent when unset or empty. Parsed by who uses them.
struct Environment {
    std::optional<std::string> db;         // ATTUNE_DB, colon list
    std::optional<std::string> db_mode;    // ATTUNE_DB_MODE: use off require
    std::optional<std::string> min_grade;  // ATTUNE_DB_MIN_GRADE
    std::optional<std::string> force;      // ATTUNE_FORCE
    std::optional<std::string> check;      // ATTUNE_CHECK
    std::optional<std::string> timeout;    // ATTUNE_TIMEOUT
    std::optional<std::string> transport;  // ATTUNE_TRANSPORT
    std::optional<std::string> trace;      // ATTUNE_TRACE
    std::optional<std::string> log;        // ATTUNE_LOG: error warn info debug
    std::optional<std::string> xdg_data_home;
    std::optional<std::string> home;
    bool no_color = false;  // NO_COLOR set and not empty, or TERM=dumb

    // Set by our launcher only.
    std::optional<int> rank;                 // ATTUNE_RANK
    std::optional<int> ranks;                // ATTUNE_RANKS
    std::optional<int> launch_fd;            // ATTUNE_LAUNCH_FD
    std::optional<std::string> launch_cpus;  // ATTUNE_LAUNCH_CPUS: the launcher's set before binding
};

// Reads the process environment (secure_getenv). Throws Error(usage) for a launcher number that is none and for ATTUNE_DB_SIGNED=1,
// which cannot be met.
Environment read_environment();
// One line per unknown ATTUNE_* variable, naming the nearest known one, and per known one that this version does not support.
std::vector<std::string> unknown_variables();

// Where this user's own database lies; nothing when neither XDG_DATA_HOME nor HOME is an absolute path.
std::optional<std::string> user_database_path(const Environment& environment);
// $XDG_DATA_HOME/attune/attune.db (or $HOME/.local/share/...), /etc/attune/attune.db, /usr/share/attune/attune.db: the user's first.
// A layer whose base is unknown is left out.
std::vector<std::string> default_database_paths(const Environment& environment);

}  // namespace attune::core
