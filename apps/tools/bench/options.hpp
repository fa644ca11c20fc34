// What attune-bench was asked to do.
#pragma once

#include "apps/tools/support/options.hpp"
#include "collectives/problem.hpp"
#include "libcore/environment.hpp"
#include "libcore/log.hpp"
#include "tuner/arena.hpp"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attune::tools::bench {

struct Options {
    std::vector<std::string> collectives;  // names, or "all"; empty = all where that makes sense
    SizeRange sizes;
    std::vector<std::string> counts;  // instead of sizes, when not empty
    std::vector<std::string> dtypes = {"float32"};
    std::vector<std::string> ops = {"sum"};
    RootChoice roots;
    std::string in_place = "both";
    std::string amounts = "balanced";  // of the _v forms
    std::string pattern = "ring";      // of send_recv

    std::uint64_t warm_up = 5;
    std::uint64_t iterations = 0;  // 0 = as many as fit the time of a row
    std::string cache = "hot";
    std::string mode = "synchronized";
    std::string skew = "none";  // word, or word:time
    bool check = false;

    std::string algorithm;  // forced, with its parameters
    core::Config settings;

    RankList ranks;
    bool ranks_given = false;  // by -n; these say that --rows leaves out the others
    bool sizes_given = false, dtypes_given = false, ops_given = false, roots_given = false;
    std::string transport = "shm";
    bool transport_named = false;  // by --transport or ATTUNE_TRANSPORT
    NodeOptions nodes;
    std::string bind_to = "core";
    std::optional<std::string> db;
    std::int64_t timeout_ns = 60'000'000'000;
    std::uint64_t seed = 1;

    bool list = false;
    std::vector<std::string> compare;  // two sides, see compare_sides.hpp, or empty
    bool rows = false;
    bool json = false;
    bool csv = false;
    std::string markdown;  // file for the table as Markdown; empty = none
    bool plot = false;
    bool per_rank = false;
    bool quiet = false;
    core::LogLevel log = core::LogLevel::warn;
    ColorMode color = ColorMode::automatic;
};

const std::vector<std::string>& amount_words();
const std::vector<std::string>& pattern_words();

void add_options(CLI::App& app, Options& options);
// After parsing: what was not given comes from ATTUNE_TRANSPORT, ATTUNE_TIMEOUT and ATTUNE_LOG. Throws core::Error(usage) for a wrong word.
void apply_environment(const CLI::App& app, const core::Environment& environment, Options& options);
// Throws core::Error(usage) for options that contradict each other.
void validate(const Options& options);

bool forced(const Options& options) noexcept;
tuner::CacheMode cache_mode(const Options& options);
// Patterns of send_recv that stream do so in every mode.
tuner::StartMode start_mode(const Options& options, collectives::Collective collective);
// --skew as words and time. Throws core::Error(usage).
struct SkewChoice {
    tuner::Skew skew = tuner::Skew::none;
    std::int64_t latest_ns = 20'000;
};
SkewChoice skew_of(const Options& options);
// What the tool knows how to do with send_recv.
bool answers(const Options& options, collectives::Collective collective);             // ping-pong: there and back
bool streams_by_pattern(const Options& options, collectives::Collective collective);  // messages follow each other without waiting
tuner::TeamOptions team_options(const Options& options, int ranks);

}  // namespace attune::tools::bench
