#include "apps/tools/bench/options.hpp"

#include "collectives/problem.hpp"
#include "libcore/error.hpp"
#include "libcore/text.hpp"
#include "libcore/units.hpp"

#include <charconv>

namespace attune::tools::bench {

namespace {

core::Error usage(const std::string& message) {
    return core::Error(core::ErrorCode::usage, message);
}

std::vector<std::string> collective_words() {
    std::vector<std::string> names = {"all"};
    for (const collectives::Collective collective : collectives::all_collectives())
        names.emplace_back(name_of(collective));
    return names;
}

void add_number(CLI::App& app, const std::string& names, std::uint64_t& number, const std::string& description) {
    const auto accept = [&number, names](const std::string& text) {
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error != std::errc{} || end != text.data() + text.size()) throw usage(names + " '" + text + "' is not a whole number");
    };
    app.add_option_function<std::string>(names, accept, description)->type_name("N");
}

// 0 stands for "not given" and cannot be asked for.
void add_iterations(CLI::App& app, std::uint64_t& iterations, const std::string& description) {
    add_number(app, "--iterations", iterations, description);
    app.get_option("--iterations")->check([](const std::string& text) {
        if (text.find_first_not_of('0') == std::string::npos) throw usage("--iterations " + text + " would measure nothing; use 1 or more, or leave it out");
        return std::string();
    });
}

void add_list(CLI::App& app, const std::string& names, std::vector<std::string>& list, const std::string& description) {
    app.add_option(names, list, description)->delimiter(',')->allow_extra_args(false)->type_name("LIST");
}

void add_problem_options(CLI::App& app, Options& options) {
    add_word_list_option(app, "collective", options.collectives,
                         {"collective", collective_words(), "all | all_reduce | all_gather | reduce_scatter | broadcast | barrier"});
    add_size_options(app, options.sizes);
    add_list(app, "--count", options.counts, "Elements of the smaller buffer, instead of sizes");
    for (const char* size : {"-b", "-e", "-f", "-i"})
        app.get_option("--count")->excludes(app.get_option(size));
    add_list(app, "-d,--dtype", options.dtypes, "float32 (default) | float64 | int32 | int64 | all");
    add_list(app, "-o,--op", options.ops, "sum (default) | prod | min | max | all");
    add_roots_option(app, options.roots);
    add_word_option(app, "--in-place", options.in_place, {"in-place choice", {"yes", "no", "both"}, "yes | no | both (default)"});
}

void add_method_options(CLI::App& app, Options& options) {
    add_number(app, "-w,--warm-up", options.warm_up, "Calls before the timed ones (default 5)");
    add_iterations(app, options.iterations, "Timed iterations; default: what fits 100 ms, 10 to 1000");
    add_word_option(app, "--cache", options.cache, {"cache mode", {"hot", "rotate"}, "hot: the same buffers; rotate: a ring larger than the caches"});
    add_word_option(app, "--mode", options.mode,
                    {"mode", {"synchronized", "streaming"}, "synchronized: a common start for each iteration; streaming: back to back"});
    app.add_flag("-c,--check", options.check, "Compare every element with the exact result, outside the timing");
}

void add_choice_options(CLI::App& app, Options& options) {
    app.add_option("--algorithm", options.algorithm, "Force this algorithm (see --list)")->type_name("NAME");
    app.add_option("--set", options.settings, "Force a parameter, e.g. segment_bytes=64K; repeatable")->type_name("KEY=VALUE")->allow_extra_args(false);
    add_db_option(app, options.db);
    add_word_list_option(app, "--compare", options.compare,
                         {"side", {"default", "tuned"}, "default,tuned: paired, with verdicts; exits 4 when tuned is slower"})
        ->allow_extra_args(false);
    app.add_flag("--rows", options.rows, "With --compare: re-test every published row in fresh launches");
    app.add_flag("--list", options.list, "List algorithms with constraints, parameters and aliases");
}

bool is_default_against_tuned(const std::vector<std::string>& sides) {
    return sides.size() == 2 && sides[0] == "default" && sides[1] == "tuned";
}

}  // namespace

void add_options(CLI::App& app, Options& options) {
    options.ranks.values = {default_ranks()};
    add_problem_options(app, options);
    add_method_options(app, options);
    add_choice_options(app, options);
    add_rank_list_option(app, options.ranks);
    add_transport_option(app, options.transport);
    add_node_options(app, options.nodes);
    add_word_option(app, "--bind-to", options.bind_to, {"binding", {"core", "none"}, "core (default): one CPU for each rank while they last; none"});
    add_json_option(app, options.json);
    add_csv_option(app, options.csv);
    add_seed_option(app, options.seed);
    add_timeout_option(app, options.timeout_ns);
    add_quiet_option(app, options.quiet);
    add_color_option(app, options.color);
}

void apply_environment(const CLI::App& app, const core::Environment& environment, Options& options) {
    options.ranks_given = app.count("--ranks") != 0;
    if (environment.transport) core::require_word("ATTUNE_TRANSPORT", *environment.transport, transport_words());
    options.transport_named = environment.transport || app.count("--transport") != 0;
    if (app.count("--transport") == 0) {
        const bool mapped = options.nodes.given() && !options.ranks.values.empty();
        options.transport = environment.transport.value_or(mapped ? options.nodes.transport(options.ranks.values.back()) : "shm");
    }
    if (environment.timeout) {
        const std::int64_t timeout = core::parse_duration_ns(*environment.timeout);
        if (app.count("--timeout") == 0) options.timeout_ns = timeout;
    }
    if (environment.log) options.log = core::parse_log_level(*environment.log);
    if (environment.trace && environment.rank.value_or(0) == 0)
        core::Log(options.log, "attune-bench").warn("ATTUNE_TRACE is not used by benchmarks; it traces programs that use the library");
}

void validate(const Options& options) {
    if (options.json && options.csv) throw usage("--json and --csv exclude each other");
    const std::string set = settings_of(options).algorithm();
    if (!set.empty() && !options.algorithm.empty() && set != options.algorithm)
        throw usage("--algorithm " + options.algorithm + " and --set algorithm=" + set + " contradict each other");
    if (options.rows && options.compare.empty()) throw usage("--rows re-tests a comparison; write --compare default,tuned --rows");
    if (!options.compare.empty() && !is_default_against_tuned(options.compare)) throw usage("--compare takes exactly default,tuned");
    if (!options.compare.empty() && forced(options)) throw usage("--compare chooses by itself; leave out --algorithm and --set");
    if (options.collectives.empty() && !options.list && !options.rows) throw usage("no collective was given; write attune-bench all_reduce, or all");
    if (options.timeout_ns <= 0) throw usage("--timeout must be longer than nothing; leave it out for 60 s");
}

core::Config settings_of(const Options& options) {
    core::Config config;
    for (const std::string& setting : options.settings) {
        const std::size_t equals = setting.find('=');
        if (equals == std::string::npos) {
            throw core::Error(core::ErrorCode::usage, "--set '" + setting + "' has no '='; write for example --set segment_bytes=64K");
        }
        const std::string name = setting.substr(0, equals);
        if (config.get(name)) throw core::Error(core::ErrorCode::usage, "--set gives " + name + " twice");
        config.set(name, std::string_view(setting).substr(equals + 1));
    }
    return config;
}

bool forced(const Options& options) noexcept {
    return !options.algorithm.empty() || !options.settings.empty();
}

tuner::CacheMode cache_mode(const Options& options) {
    return options.cache == "rotate" ? tuner::CacheMode::rotate : tuner::CacheMode::hot;
}

tuner::StartMode start_mode(const Options& options) {
    return options.mode == "streaming" ? tuner::StartMode::streaming : tuner::StartMode::synchronized;
}

tuner::TeamOptions team_options(const Options& options, int ranks) {
    tuner::TeamOptions team;
    team.ranks = ranks;
    team.transport = options.transport;
    team.node_map = options.nodes.text(ranks);
    team.bind = options.bind_to == "core";
    team.timeout_ns = options.timeout_ns;
    return team;
}

}  // namespace attune::tools::bench
