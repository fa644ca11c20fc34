#include "apps/tools/bench/options.hpp"

#include "apps/tools/bench/foreign_options.hpp"
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

// A lone number stands here when -c was given a value, as nccl-tests wants it.
void add_collectives(CLI::App& app, std::vector<std::string>& names) {
    const auto accept = [&names](const std::vector<std::string>& given) {
        names.clear();
        for (const std::string& word : given) {
            if (word.find_first_not_of("0123456789") == std::string::npos && !word.empty())
                throw usage("'" + word + "' is no collective; -c takes no number here: write -c to check, or leave it out");
            names.push_back(core::require_word("collective", word, collective_words()));
        }
    };
    app.add_option_function<std::vector<std::string>>("collective", accept, "all, or names: all_reduce send_recv ... (--list has them all)")
        ->delimiter(',')
        ->type_name("WORD")
        ->group("");
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
    add_collectives(app, options.collectives);
    add_size_options(app, options.sizes);
    add_list(app, "--count", options.counts, "Elements of the smaller buffer, instead of sizes");
    for (const char* size : {"-b", "-e", "-f", "-i"})
        app.get_option("--count")->excludes(app.get_option(size));
    add_list(app, "-d,--dtype", options.dtypes, "float32 (default), bfloat16, int8 ..., or all");
    add_list(app, "-o,--op", options.ops, "sum (default) prod min max avg band bor bxor, or all");
    add_roots_option(app, options.roots);
    add_word_option(app, "--in-place", options.in_place, {"in-place choice", {"yes", "no", "both"}, "yes | no | both (default)"});
    add_word_option(app, "--amounts", options.amounts, {"amounts", amount_words(), "Of the _v forms: balanced (default) | uneven | one-hot | zero"});
    add_word_option(app, "--pattern", options.pattern, {"pattern", pattern_words(), "send_recv: ring ping_pong stream bidirectional rate pairs"});
}

void add_method_options(CLI::App& app, Options& options) {
    add_number(app, "-w,--warm-up", options.warm_up, "Calls before the timed ones (default 5)");
    add_iterations(app, options.iterations, "Timed iterations; default: what fits the time of a row");
    add_word_option(app, "--cache", options.cache, {"cache mode", {"hot", "rotate"}, "hot: the same buffers; rotate: more than the caches hold"});
    add_word_option(app, "--mode", options.mode, {"mode", {"synchronized", "streaming"}, "synchronized: a common start each time | streaming: back to back"});
    app.add_option("--skew", options.skew, "Arrival: none | uniform | one-late | ramp, with :TIME (20us)")->type_name("WORD");
    app.add_flag("-c,--check", options.check, "Compare every element with the exact result, untimed");
}

void add_choice_options(CLI::App& app, Options& options) {
    app.add_option("--algorithm", options.algorithm, "Force this algorithm (see --list)")->type_name("NAME");
    add_set_option(app, options.settings, "Force a parameter, e.g. segment_bytes=64K; repeatable");
    add_db_option(app, options.db);
    app.add_option("--compare", options.compare, "default,tuned or ring,two_level: paired; exits 4 if slower")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->type_name("SIDES");
    app.add_flag("--rows", options.rows, "With --compare: re-test every published row, fresh launches");
    app.add_flag("--list", options.list, "List algorithms with constraints and parameters");
}

void add_output_options(CLI::App& app, Options& options) {
    add_json_option(app, options.json);
    add_csv_option(app, options.csv);
    app.add_option("--export-markdown", options.markdown, "Write the table as Markdown, too")->type_name("FILE");
    app.add_flag("--plot", options.plot, "Draw time over size after the table");
    app.add_flag("--per-rank", options.per_rank, "Also each rank's median time inside the call");
    add_quiet_option(app, options.quiet);
    add_color_option(app, options.color);
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
    add_output_options(app, options);
    add_seed_option(app, options.seed);
    add_timeout_option(app, options.timeout_ns);
    add_foreign_options(app);
}

void apply_environment(const CLI::App& app, const core::Environment& environment, Options& options) {
    options.ranks_given = app.count("--ranks") != 0;
    options.sizes_given = app.count("-b") + app.count("-e") != 0;
    options.dtypes_given = app.count("--dtype") != 0;
    options.ops_given = app.count("--op") != 0;
    options.roots_given = app.count("--roots") != 0;
    options.transport_named = environment.transport || app.count("--transport") != 0;
    if (app.count("--transport") == 0) {
        const bool mapped = options.nodes.given() && !options.ranks.values.empty();
        options.transport = environment.transport.value_or(mapped ? options.nodes.transport(options.ranks.values.back()) : "shm");
    }
    if (app.count("--timeout") == 0) options.timeout_ns = core::timeout_ns_of(environment).value_or(options.timeout_ns);
    options.log = core::log_level_of(environment, options.log);
    if (environment.trace && environment.rank.value_or(0) == 0)
        core::Log(options.log, "attune-bench").warn("ATTUNE_TRACE is not used by benchmarks; it traces programs that use the library");
}

}  // namespace attune::tools::bench
