#include "apps/tools/support/options.hpp"

#include "collectives/team_facts.hpp"
#include "libcore/environment.hpp"
#include "libcore/error.hpp"
#include "libcore/text.hpp"
#include "libcore/topology.hpp"
#include "libcore/units.hpp"

#include <algorithm>
#include <charconv>

namespace attune::tools {
namespace {

constexpr std::size_t max_sizes = 10'000;
constexpr std::uint64_t max_ranks = 4096;

core::Error usage(const std::string& message) {
    return core::Error(core::ErrorCode::usage, message);
}

// A whole number without sign; `what` names the option.
std::uint64_t parse_number(const std::string& what, const std::string& text) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) {
        throw usage(what + " '" + text + "' is not a whole number");
    }
    return number;
}

std::string help_of(const Words& words) {
    if (!words.description.empty()) {
        return words.description;
    }
    std::string text;
    for (const std::string& word : words.right) {
        text += (text.empty() ? "" : " | ") + word;
    }
    return text;
}

CLI::Option* add_path_option(CLI::App& app, const std::string& names, std::optional<std::string>& path, const std::string& description) {
    return app
        .add_option_function<std::string>(
            names,
            [&path, names](const std::string& text) {
                if (text.empty()) throw core::Error(core::ErrorCode::usage, names + " names no file; write " + names + " FILE");
                path = text;
            },
            description)
        ->type_name("FILE");
}

}  // namespace

std::vector<std::uint64_t> SizeRange::sizes() const {
    if (min_bytes > max_bytes) {
        throw usage("the smallest size (-b " + core::compact_bytes(min_bytes) + ") is larger than the largest (-e " + core::compact_bytes(max_bytes) + ")");
    }
    if (increment_bytes == 0 && factor < 2 && min_bytes != max_bytes) {
        throw usage("sizes cannot grow from " + std::to_string(min_bytes) + " B by the factor " + std::to_string(factor) + "; use -f 2 or -i BYTES");
    }
    std::vector<std::uint64_t> sizes;
    for (std::uint64_t bytes = min_bytes; bytes <= max_bytes;) {
        sizes.push_back(bytes);
        if (sizes.size() > max_sizes) {
            throw usage("the sweep has more than " + std::to_string(max_sizes) + " sizes; use a larger -f or -i");
        }
        const std::uint64_t room = max_bytes - bytes;
        const bool stop = increment_bytes != 0 ? increment_bytes > room : bytes == max_bytes || bytes > max_bytes / factor;
        if (stop) {
            break;
        }
        // No factor leads away from 0: the next size is the smallest one of the default.
        const std::uint64_t scaled = bytes == 0 ? std::min(SizeRange{}.min_bytes, max_bytes) : bytes * factor;
        bytes = increment_bytes != 0 ? bytes + increment_bytes : scaled;
    }
    return sizes;
}

CLI::Option* add_bytes_option(CLI::App& app, const std::string& names, std::uint64_t& bytes, const std::string& description) {
    return app
        .add_option_function<std::string>(
            names, [&bytes](const std::string& text) { bytes = core::parse_bytes(text); }, description)
        ->type_name("SIZE");
}

CLI::Option* add_duration_option(CLI::App& app, const std::string& names, std::int64_t& nanoseconds, const std::string& description) {
    return app
        .add_option_function<std::string>(
            names, [&nanoseconds](const std::string& text) { nanoseconds = core::parse_duration_ns(text); }, description)
        ->type_name("TIME");
}

CLI::Option* add_word_option(CLI::App& app, const std::string& names, std::string& word, const Words& words) {
    const auto accept = [&word, words](const std::string& text) { word = core::require_word(words.what, text, words.right); };
    return app.add_option_function<std::string>(names, accept, help_of(words))->type_name("WORD");
}

CLI::Option* add_word_list_option(CLI::App& app, const std::string& names, std::vector<std::string>& list, const Words& words) {
    const auto accept = [&list, words](const std::vector<std::string>& given) {
        list.clear();
        for (const std::string& text : given) {
            list.push_back(core::require_word(words.what, text, words.right));
        }
    };
    return app.add_option_function<std::vector<std::string>>(names, accept, help_of(words))->delimiter(',')->type_name("WORD");
}

CLI::Option* add_set_option(CLI::App& app, core::Config& config, const std::string& description) {
    const auto accept = [&config](const std::vector<std::string>& given) {
        for (const std::string& word : given)
            if (word.empty()) throw usage("--set names nothing; write for example --set segment_bytes=64K");
        config = core::meaning_of("--set", [&given] { return core::Config::parse(core::join(given, ",")); });
    };
    return app.add_option_function<std::vector<std::string>>("--set", accept, description)->type_name("KEY=VALUE")->allow_extra_args(false);
}

CLI::Option* add_ranks_option(CLI::App& app, int& ranks) {
    const auto accept = [&ranks](const std::string& text) {
        const std::uint64_t number = parse_number("--ranks", text);
        if (number < 1 || number > max_ranks) {
            throw usage("--ranks " + text + " is outside 1 to " + std::to_string(max_ranks));
        }
        ranks = static_cast<int>(number);
    };
    return app.add_option_function<std::string>("-n,--ranks", accept, "Ranks to start; default: the launcher's, else one for each allowed CPU, at least 2")
        ->type_name("N");
}

CLI::Option* add_rank_list_option(CLI::App& app, RankList& ranks) {
    return app
        .add_option_function<std::string>(
            "-n,--ranks", [&ranks](const std::string& text) { ranks = RankList::parse(text); }, "Numbers of ranks, a list such as 1-17,33")
        ->type_name("LIST");
}

CLI::Option* add_roots_option(CLI::App& app, RootChoice& roots) {
    return app
        .add_option_function<std::string>(
            "-r,--roots", [&roots](const std::string& text) { roots = RootChoice::parse(text); }, "Root of rooted collectives: a rank, or all")
        ->type_name("N|all");
}

CLI::Option* add_transport_option(CLI::App& app, std::string& transport) {
    const std::span<const std::string> words = transport_words();
    return add_word_option(app, "--transport", transport,
                           {"transport", {words.begin(), words.end()}, "local (threads) | shm (processes) | tcp | mixed (shm and tcp)"});
}

std::span<const std::string> transport_words() {
    static const std::vector<std::string> words = {"local", "shm", "tcp", "mixed"};
    return words;
}

std::optional<std::string> transport_of(const core::Environment& environment) {
    if (!environment.transport) return std::nullopt;
    return core::require_word("ATTUNE_TRANSPORT", *environment.transport, transport_words());
}

std::string NodeOptions::text(int ranks) const {
    if (ranks_per_node != 0) return collectives::NodeMap::blocks(ranks, ranks_per_node).text();
    if (map.empty()) return collectives::NodeMap::blocks(ranks, ranks).text();
    const int mapped = collectives::NodeMap::parse(map).ranks();
    if (mapped != ranks) throw usage("--node-map " + map + " is for " + std::to_string(mapped) + " ranks, but there are " + std::to_string(ranks));
    return map;
}

std::string NodeOptions::transport(int ranks) const {
    return std::string(collectives::usual_transport(collectives::NodeMap::parse(text(ranks))));
}

void add_node_options(CLI::App& app, NodeOptions& nodes) {
    const auto set_size = [&nodes](const std::string& text) {
        const std::uint64_t number = parse_number("--ranks-per-node", text);
        if (number < 1 || number > max_ranks) throw usage("--ranks-per-node " + text + " is outside 1 to " + std::to_string(max_ranks));
        nodes.ranks_per_node = static_cast<int>(number);
    };
    CLI::Option* const size =
        app.add_option_function<std::string>("--ranks-per-node", set_size, "Logical nodes of so many ranks, on this machine")->type_name("K");
    app.add_option_function<std::string>(
           "--node-map", [&nodes](const std::string& text) { nodes.map = collectives::NodeMap::parse(text).text(); },
           "Logical nodes: 2,2,1, or with ranks dealt in turn 2,2,1:cyclic")
        ->type_name("MAP")
        ->excludes(size);
}

CLI::Option* add_db_option(CLI::App& app, std::optional<std::string>& path) {
    return add_path_option(app, "--db", path, "Release to use instead of the default paths");
}

CLI::Option* add_journal_option(CLI::App& app, std::optional<std::string>& path) {
    return add_path_option(app, "--journal", path, "Work database; default: beside the release");
}

CLI::Option* add_json_option(CLI::App& app, bool& json) {
    return app.add_flag("--json", json, "Print one JSON document on stdout, nothing else");
}

CLI::Option* add_csv_option(CLI::App& app, bool& csv) {
    return app.add_flag("--csv", csv, "Print comma-separated values");
}

CLI::Option* add_seed_option(CLI::App& app, std::uint64_t& seed) {
    return app
        .add_option_function<std::string>(
            "--seed", [&seed](const std::string& text) { seed = parse_number("--seed", text); }, "Seed of everything random")
        ->type_name("N");
}

CLI::Option* add_timeout_option(CLI::App& app, std::int64_t& timeout_ns) {
    return add_duration_option(app, "--timeout", timeout_ns, "Give up on a rank that does not answer for so long");
}

CLI::Option* add_quiet_option(CLI::App& app, bool& quiet) {
    return app.add_flag("-q,--quiet", quiet, "No progress and no remarks");
}

CLI::Option* add_color_option(CLI::App& app, ColorMode& mode) {
    return app
        .add_option_function<std::string>(
            "--color", [&mode](const std::string& text) { mode = parse_color_mode(text); }, "auto | always | never; NO_COLOR is honored")
        ->type_name("WHEN");
}

void add_size_options(CLI::App& app, SizeRange& range) {
    add_bytes_option(app, "-b,--min-bytes", range.min_bytes, "Smallest size (8, 64K, 4M)");
    add_bytes_option(app, "-e,--max-bytes", range.max_bytes, "Largest size");
    CLI::Option* const factor = app.add_option_function<std::string>(
                                       "-f,--step-factor", [&range](const std::string& text) { range.factor = parse_number("--step-factor", text); },
                                       "Multiply the size by this from step to step")
                                    ->type_name("N");
    const auto add_step = [&range](const std::string& text) {
        range.increment_bytes = core::parse_bytes(text);
        if (range.increment_bytes == 0) throw usage("-i " + text + " would never reach the largest size; use a size above 0, or leave it out");
    };
    app.add_option_function<std::string>("-i,--step-bytes", add_step, "Add this from step to step instead")->type_name("SIZE")->excludes(factor);
}

int default_ranks() {
    const core::Environment environment = core::read_environment();
    return environment.ranks.value_or(std::max(2, static_cast<int>(core::allowed_cpus().cpus.size())));
}

}  // namespace attune::tools
