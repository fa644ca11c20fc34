#include "libcore/environment.hpp"

#include "libcore/error.hpp"
#include "libcore/text.hpp"
#include "libcore/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <unistd.h>

namespace attune::core {

namespace {

const std::vector<std::string>& known_variables() {
    static const std::vector<std::string> names = {
        "ATTUNE_DB",      "ATTUNE_DB_MODE",      "ATTUNE_DB_SIGNED", "ATTUNE_DB_MIN_GRADE", "ATTUNE_FORCE",     "ATTUNE_DETERMINISM", "ATTUNE_CHECK",
        "ATTUNE_TIMEOUT", "ATTUNE_TRANSPORT",    "ATTUNE_INTERFACE", "ATTUNE_SECRET_FILE",  "ATTUNE_TRACE",     "ATTUNE_CACHE_DIR",   "ATTUNE_HEAP_LIMIT",
        "ATTUNE_LOG",     "ATTUNE_TCP_SECURITY", "ATTUNE_RANK",      "ATTUNE_RANKS",        "ATTUNE_LAUNCH_FD", "ATTUNE_LAUNCH_CPUS", "ATTUNE_LAUNCH_NODES",
    };
    return names;
}

// Part of the design, but nothing reads them yet.
bool supported(std::string_view name) {
    constexpr std::array<std::string_view, 5> later = {"ATTUNE_DB_SIGNED", "ATTUNE_DETERMINISM", "ATTUNE_CACHE_DIR", "ATTUNE_HEAP_LIMIT",
                                                       "ATTUNE_TCP_SECURITY"};
    return std::ranges::find(later, name) == later.end();
}

// secure_getenv: a set-user-id program takes no settings from its caller.
std::optional<std::string> variable(const char* name) {
    const char* value = ::secure_getenv(name);
    if (value == nullptr || *value == '\0') return std::nullopt;
    return std::string(value);
}

std::optional<int> launcher_number(const char* name, int minimum) {
    const auto text = variable(name);
    if (!text) return std::nullopt;
    int number = 0;
    const char* last = text->data() + text->size();
    const auto [end, status] = std::from_chars(text->data(), last, number);
    if (status == std::errc() && end == last && number >= minimum) return number;
    throw Error(ErrorCode::usage, fmt::format("{}='{}' is not a whole number of at least {}; only attune-run sets it", name, printable(*text), minimum));
}

struct Launcher {
    const char* name;  // with its verb
    const char* rank;
    const char* ranks;
    bool address_needed;  // false: the variables also stand in shells where nothing was started by the launcher
};
constexpr std::array<Launcher, 4> launchers = {{{"RANK and WORLD_SIZE announce", "RANK", "WORLD_SIZE", true},
                                                {"Slurm started", "SLURM_PROCID", "SLURM_NTASKS", false},
                                                {"Open MPI started", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", true},
                                                {"MPICH started", "PMI_RANK", "PMI_SIZE", true}}};

int foreign_number(const char* name, const std::string& text, int minimum, int maximum) {
    int number = 0;
    const char* last = text.data() + text.size();
    const auto [end, status] = std::from_chars(text.data(), last, number);
    if (status == std::errc() && end == last && number >= minimum && number <= maximum) return number;
    throw Error(ErrorCode::usage, fmt::format("{}='{}' is not a whole number of {} to {}", name, printable(text), minimum, maximum));
}

// The XDG specification ignores relative bases; so the result never depends on the current directory.
bool absolute(const std::optional<std::string>& path) {
    return path && path->front() == '/';
}

}  // namespace

Environment read_environment() {
    // A wish for safety is refused, not ignored.
    if (const auto is_signed = variable("ATTUNE_DB_SIGNED"); is_signed && *is_signed != "0")
        throw Error(ErrorCode::usage, fmt::format("ATTUNE_DB_SIGNED={}: this version cannot check signatures; unset it", printable(*is_signed)));
    Environment environment;
    environment.db = variable("ATTUNE_DB");
    environment.db_mode = variable("ATTUNE_DB_MODE");
    environment.min_grade = variable("ATTUNE_DB_MIN_GRADE");
    environment.force = variable("ATTUNE_FORCE");
    environment.check = variable("ATTUNE_CHECK");
    environment.timeout = variable("ATTUNE_TIMEOUT");
    environment.transport = variable("ATTUNE_TRANSPORT");
    environment.interface = variable("ATTUNE_INTERFACE");
    environment.secret_file = variable("ATTUNE_SECRET_FILE");
    environment.trace = variable("ATTUNE_TRACE");
    environment.log = variable("ATTUNE_LOG");
    environment.xdg_data_home = variable("XDG_DATA_HOME");
    environment.home = variable("HOME");
    environment.no_color = variable("NO_COLOR").has_value() || variable("TERM") == "dumb";
    environment.rank = launcher_number("ATTUNE_RANK", 0);
    environment.ranks = launcher_number("ATTUNE_RANKS", 1);
    environment.launch_fd = launcher_number("ATTUNE_LAUNCH_FD", 0);
    if (environment.rank) environment.launch_cpus = variable("ATTUNE_LAUNCH_CPUS");  // without our launcher it is a stray
    environment.launch_nodes = variable("ATTUNE_LAUNCH_NODES");
    return environment;
}

std::optional<ForeignLaunch> read_foreign_launch() {
    const Launcher* half = nullptr;
    for (const Launcher& launcher : launchers) {
        const auto rank = variable(launcher.rank), ranks = variable(launcher.ranks);
        if (!rank != !ranks && half == nullptr && variable("MASTER_ADDR") && launcher.address_needed) half = &launcher;
        if (!rank || !ranks) continue;
        ForeignLaunch found;
        found.launcher = launcher.name;
        found.rank = foreign_number(launcher.rank, *rank, 0, 1 << 20);
        found.ranks = foreign_number(launcher.ranks, *ranks, 1, 1 << 20);
        if (found.rank >= found.ranks)
            throw Error(ErrorCode::usage, fmt::format("{}={} with {}={}: ranks count from 0", launcher.rank, found.rank, launcher.ranks, found.ranks));
        if (found.ranks == 1) return std::nullopt;
        const auto address = variable("MASTER_ADDR"), port = variable("MASTER_PORT");
        if (!address && !launcher.address_needed) return std::nullopt;
        if (!address)
            throw Error(ErrorCode::usage,
                        fmt::format("{} {} ranks of this program ({}={}), but MASTER_ADDR does not say where they meet; set it to rank 0's host, "
                                    "or start the program with attune-run",
                                    launcher.name, found.ranks, launcher.ranks, found.ranks));
        found.address = *address;
        if (port) found.port = static_cast<std::uint16_t>(foreign_number("MASTER_PORT", *port, 1, 65535));
        return found;
    }
    if (half != nullptr)
        throw Error(ErrorCode::usage, fmt::format("MASTER_ADDR and {} are set, but {} is not: set it, or unset the others to run alone",
                                                  variable(half->rank) ? half->rank : half->ranks, variable(half->rank) ? half->ranks : half->rank));
    return std::nullopt;
}

LogLevel log_level_of(const Environment& environment, LogLevel otherwise) {
    if (!environment.log) return otherwise;
    return meaning_of("ATTUNE_LOG", [&] { return parse_log_level(*environment.log); });
}

std::optional<std::int64_t> timeout_ns_of(const Environment& environment) {
    if (!environment.timeout) return std::nullopt;
    return meaning_of("ATTUNE_TIMEOUT", [&] { return std::optional(parse_duration_ns(*environment.timeout)); });
}

bool checks_calls(const Environment& environment) {
    const std::string text = environment.check.value_or("0");
    if (text == "0" || text == "1") return text == "1";
    throw Error(ErrorCode::usage, fmt::format("ATTUNE_CHECK='{}' is neither 0 nor 1", printable(text)));
}

std::vector<std::string> unknown_variables() {
    constexpr std::string_view prefix = "ATTUNE_";
    const std::vector<std::string>& known = known_variables();
    std::vector<std::string> lines;
    for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const std::string name(text.substr(0, text.find('=')));
        if (!supported(name)) lines.push_back(fmt::format("{} is not supported by this version and ignored", name));
        if (!name.starts_with(prefix) || std::find(known.begin(), known.end(), name) != known.end()) continue;
        const std::string near = nearest(name, known);
        std::string line = fmt::format("unknown environment variable '{}' is ignored", printable(name));
        if (!near.empty()) line += fmt::format("; did you mean '{}'?", near);
        lines.push_back(std::move(line));
    }
    std::sort(lines.begin(), lines.end());
    return lines;
}

std::optional<std::string> user_database_path(const Environment& environment) {
    if (absolute(environment.xdg_data_home)) return *environment.xdg_data_home + "/attune/attune.db";
    if (absolute(environment.home)) return *environment.home + "/.local/share/attune/attune.db";
    return std::nullopt;
}

std::vector<std::string> default_database_paths(const Environment& environment) {
    std::vector<std::string> paths;
    if (auto own = user_database_path(environment)) paths.push_back(std::move(*own));
    paths.emplace_back("/etc/attune/attune.db");
    paths.emplace_back("/usr/share/attune/attune.db");
    return paths;
}

}  // namespace attune::core
