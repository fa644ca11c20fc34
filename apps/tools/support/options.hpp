// Options that several tools share, with one spelling, one description and one check each. Wrong values throw core::Error(usage).
#pragma once

#include "apps/tools/support/color.hpp"
#include "apps/tools/support/lists.hpp"
#include "libcore/config.hpp"
#include "libcore/environment.hpp"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attune::tools {

// The sizes of a sweep: min, then times `factor` (or plus `increment` when set) up to and including max. By factors 0 is followed by 8.
struct SizeRange {
    std::uint64_t min_bytes = 8;
    std::uint64_t max_bytes = 16u << 20;
    std::uint64_t factor = 8;
    std::uint64_t increment_bytes = 0;  // 0 = use the factor

    // Throws Error(usage) when min > max, or the factor is below 2 without an increment, or more than 10,000 sizes result.
    std::vector<std::uint64_t> sizes() const;
};

// Logical nodes on one machine.
struct NodeOptions {
    int ranks_per_node = 0;  // 0 = not given
    std::string map;         // canonical; empty = not given

    bool given() const noexcept { return ranks_per_node != 0 || !map.empty(); }
    // Canonical text for so many ranks; "1xN" when nothing was given. Throws Error(usage) when the map is for another number of ranks.
    std::string text(int ranks) const;
    // The transport that joins these nodes when none is named: mixed for several, else shm.
    std::string transport(int ranks) const;
};

// Generic pieces. `names` as in CLI11: "-b,--min-bytes". `kind` is the word shown in the help.
CLI::Option* add_bytes_option(CLI::App& app, const std::string& names, std::uint64_t& bytes, const std::string& description);
CLI::Option* add_duration_option(CLI::App& app, const std::string& names, std::int64_t& nanoseconds, const std::string& description);
struct Words {
    std::string what;                // "transport": used in the message about a wrong word
    std::vector<std::string> right;  // the accepted words
    std::string description = {};    // for the help; empty = the list of words
};
CLI::Option* add_word_option(CLI::App& app, const std::string& names, std::string& word, const Words& words);
// A list separated by commas or spaces, or positionals when `names` has no dash.
CLI::Option* add_word_list_option(CLI::App& app, const std::string& names, std::vector<std::string>& list, const Words& words);

// Parameters as NAME=VALUE, repeatable. Throws Error(usage) for a wrong or repeated name.
CLI::Option* add_set_option(CLI::App& app, core::Config& config, const std::string& description);

// The common options. Each leaves its variable alone when it is not given.
CLI::Option* add_ranks_option(CLI::App& app, int& ranks);                  // -n,--ranks N; pass default_ranks() as initial value
CLI::Option* add_rank_list_option(CLI::App& app, RankList& ranks);         // -n,--ranks 1-17,33
CLI::Option* add_roots_option(CLI::App& app, RootChoice& roots);           // -r,--roots all|N
CLI::Option* add_transport_option(CLI::App& app, std::string& transport);  // local | shm | tcp | mixed
std::span<const std::string> transport_words();
std::optional<std::string> transport_of(const core::Environment& environment);  // ATTUNE_TRANSPORT; throws Error(usage) for a wrong word
void add_node_options(CLI::App& app, NodeOptions& nodes);                       // --ranks-per-node --node-map
CLI::Option* add_db_option(CLI::App& app, std::optional<std::string>& path);
CLI::Option* add_journal_option(CLI::App& app, std::optional<std::string>& path);
CLI::Option* add_json_option(CLI::App& app, bool& json);
CLI::Option* add_csv_option(CLI::App& app, bool& csv);
CLI::Option* add_seed_option(CLI::App& app, std::uint64_t& seed);
CLI::Option* add_timeout_option(CLI::App& app, std::int64_t& timeout_ns);
CLI::Option* add_quiet_option(CLI::App& app, bool& quiet);
CLI::Option* add_color_option(CLI::App& app, ColorMode& mode);
void add_size_options(CLI::App& app, SizeRange& range);  // -b -e -f -i

// The launcher's size when started by one, else the allowed CPUs, at least 2 (decision 5).
int default_ranks();

}  // namespace attune::tools
