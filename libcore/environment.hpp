// The one file that reads environment variables. The list is complete; anything else named ATTUNE_* is warned about.
#pragma once

#include "libcore/error.hpp"
#include "libcore/log.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attune::core {

// Values as given, absent when unset or empty. Parsed by who uses them.
struct Environment {
    std::optional<std::string> db;           // ATTUNE_DB, colon list
    std::optional<std::string> db_mode;      // ATTUNE_DB_MODE: use off require
    std::optional<std::string> min_grade;    // ATTUNE_DB_MIN_GRADE
    std::optional<std::string> force;        // ATTUNE_FORCE
    std::optional<std::string> check;        // ATTUNE_CHECK
    std::optional<std::string> timeout;      // ATTUNE_TIMEOUT
    std::optional<std::string> transport;    // ATTUNE_TRANSPORT: local shm tcp mixed
    std::optional<std::string> interface;    // ATTUNE_INTERFACE: name or address that tcp listens on
    std::optional<std::string> secret_file;  // ATTUNE_SECRET_FILE: the job's secret, mode 0600
    std::optional<std::string> trace;        // ATTUNE_TRACE
    std::optional<std::string> log;          // ATTUNE_LOG: error warn info debug
    std::optional<std::string> xdg_data_home;
    std::optional<std::string> home;
    bool no_color = false;  // NO_COLOR set and not empty, or TERM=dumb

    // Set by our launcher only.
    std::optional<std::string> launch_nodes;  // ATTUNE_LAUNCH_NODES: the node map that was asked for
    std::optional<int> rank;                  // ATTUNE_RANK
    std::optional<int> ranks;                 // ATTUNE_RANKS
    std::optional<int> launch_fd;             // ATTUNE_LAUNCH_FD
    std::optional<std::string> launch_cpus;   // ATTUNE_LAUNCH_CPUS: the launcher's set before binding
};

// A rank that another launcher started, and where its ranks meet.
struct ForeignLaunch {
    std::string launcher;  // who says so, with a verb: "Slurm started"
    int rank = 0, ranks = 1;
    std::string address;         // MASTER_ADDR
    std::uint16_t port = 29500;  // MASTER_PORT
};
// RANK and WORLD_SIZE (torchrun) before Slurm's, Open MPI's and MPICH's own variables. Nothing without a number of ranks, for one rank, and in Slurm
// without MASTER_ADDR. Throws Error(usage) for numbers that make no sense, when the address of several ranks is missing, and when only one of two is set
// besides MASTER_ADDR.
std::optional<ForeignLaunch> read_foreign_launch();

// Reads the process environment (secure_getenv). Throws Error(usage) for a launcher number that is none and for ATTUNE_DB_SIGNED=1,
// which cannot be met.
Environment read_environment();
// What a variable means; nothing, or `otherwise`, when it is not set. Throw Error(usage) naming the variable and its value.
LogLevel log_level_of(const Environment& environment, LogLevel otherwise);
std::optional<std::int64_t> timeout_ns_of(const Environment& environment);
bool checks_calls(const Environment& environment);  // ATTUNE_CHECK, 0 or 1
// Calls parse(); an error it throws names the variable.
template <class Parse>
auto meaning_of(std::string_view variable, const Parse& parse) {
    try {
        return parse();
    } catch (const Error& error) {
        throw Error(error.code(), std::string(variable) + ": " + error.what());
    }
}

// One line per unknown ATTUNE_* variable, naming the nearest known one, and per known one that this version does not support.
std::vector<std::string> unknown_variables();

// Where this user's own database lies; nothing when neither XDG_DATA_HOME nor HOME is an absolute path.
std::optional<std::string> user_database_path(const Environment& environment);
// $XDG_DATA_HOME/attune/attune.db (or $HOME/.local/share/...), /etc/attune/attune.db, /usr/share/attune/attune.db: the user's first.
// A layer whose base is unknown is left out.
std::vector<std::string> default_database_paths(const Environment& environment);

}  // namespace attune::core
