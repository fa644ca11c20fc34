// attune-profile: records the steps of a program's collectives and shows where the time goes.
#include "apps/tools/profile/record.hpp"
#include "apps/tools/profile/show.hpp"
#include "apps/tools/support/options.hpp"
#include "apps/tools/support/run_tool.hpp"
#include "libcore/error.hpp"
#include "libcore/file.hpp"
#include "profiler/perfetto.hpp"
#include "profiler/trace_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include <fcntl.h>

namespace {

namespace tools = attune::tools;
namespace core = attune::core;
namespace profile = attune::tools::profile;
namespace profiler = attune::profiler;

struct Options {
    profile::RecordOptions record;
    std::vector<std::string> files;
    std::string perfetto;
    bool json = false;
};

// Options that are handed on to attune-run, which checks them.
struct LauncherOption {
    const char* names;
    const char* word;   // on attune-run's command line
    const char* value;  // null: a flag
    const char* description;
};
constexpr LauncherOption launcher_options[] = {
    {"-n,--ranks", "--ranks", "N", "Ranks to start"},
    {"--bind-to", "--bind-to", "WORD", "core or none, as in attune-run"},
    {"--ranks-per-node", "--ranks-per-node", "K", "As in attune-run"},
    {"--node-map", "--node-map", "MAP", "As in attune-run"},
    {"--report-bindings", "--report-bindings", nullptr, "Say on stderr where each rank runs"},
    {"--tag-output", "--tag-output", nullptr, "Put \"[rank] \" in front of every line of output"},
    {"-x", "-x", "NAME[=VALUE]", "Set a variable for the ranks"},
};

void add_launcher_options(CLI::App& app, std::vector<std::string>& words) {
    for (const LauncherOption& option : launcher_options) {
        const std::string word = option.word;
        if (option.value == nullptr) {
            app.add_flag_callback(
                option.names, [&words, word] { words.push_back(word); }, option.description);
            continue;
        }
        const auto hand_on = [&words, word](const std::vector<std::string>& values) {
            for (const std::string& value : values)
                words.insert(words.end(), {word, value});
            return true;
        };
        app.add_option(option.names, CLI::callback_t(hand_on), option.description)
            ->type_name(option.value)
            ->type_size(1)
            ->allow_extra_args(false)
            ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    }
}

// A file that could not be written whole is of no use.
void write_events(const std::string& path, std::span<const profiler::RankTrace> traces) {
    const core::UniqueFd file = core::open_file(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
    try {
        profiler::write_perfetto(traces, [&](std::string_view piece) { core::write_all(file.get(), std::as_bytes(std::span(piece)), path); });
    } catch (const core::Error&) {
        std::remove(path.c_str());
        throw;
    }
}

int show(const Options& options) {
    std::vector<profiler::RankTrace> traces;
    for (const std::string& file : profile::trace_files(options.files.empty() ? std::vector<std::string>{profile::newest_folder()} : options.files))
        traces.push_back(profiler::read_trace(file));
    const profile::Report report = profile::report_of(traces);
    if (options.perfetto == "-") throw core::Error(core::ErrorCode::usage, "--perfetto writes a file; give it a name");
    if (!options.perfetto.empty()) {
        write_events(options.perfetto, traces);
        std::fprintf(stderr, "attune-profile: wrote %s; open it at https://ui.perfetto.dev\n", options.perfetto.c_str());
    }
    if (options.json) {
        tools::print_json(profile::report_json(report));
    } else {
        std::fputs(profile::report_text(report).c_str(), stdout);
    }
    return 0;
}

// The parser gives what follows "--" after a subcommand's options to the tool itself, so the program is taken off the words before.
std::vector<std::string> take_command(int& argc, char** argv) {
    const std::vector<std::string> words(argv, argv + argc);
    const auto marker = words.size() > 1 && words[1] == "run" ? std::ranges::find(words, "--") : words.end();
    if (marker == words.end()) return {};
    argc = static_cast<int>(marker - words.begin());
    return {marker + 1, words.end()};
}

tools::Body set_up(CLI::App& app, const std::vector<std::string>& command) {
    const auto options = std::make_shared<Options>();
    options->record.command = command;
    app.require_subcommand(1);
    CLI::App* runner = app.add_subcommand("run", "Start a program as ranks and record their collectives");
    runner->prefix_command();
    runner->add_option("--output", options->record.folder, "Folder for the traces, made when it is missing; default: a new attune-trace here")
        ->type_name("DIR");
    add_launcher_options(*runner, options->record.launcher);
    CLI::App* shower = app.add_subcommand("show", "Where the time of each rank goes, what calls cost, and which ranks come late");
    shower->add_option("FILE", options->files, "Traces, or folders of them; default: the newest folder here")->type_name("");
    shower->add_option("--perfetto", options->perfetto, "Also write the events as JSON that ui.perfetto.dev opens")->type_name("OUT");
    tools::add_json_option(*shower, options->json);
    tools::set_example(*runner, "attune-profile run -n 4 --output traces -- ./my_program --its-own-options");
    tools::set_example(*shower, "attune-profile show traces --perfetto events.json");
    return [options, runner] {
        if (!runner->parsed()) return show(*options);
        if (options->record.command.empty()) options->record.command = tools::command_words(*runner);
        return profile::record(options->record);
    };
}

}  // namespace

int main(int argc, char** argv) {
    const tools::ToolInfo info = {"attune-profile", "Records the collectives of a program and shows where its time goes.",
                                  "attune-profile run -n 2 -- ./my_program; attune-profile show"};
    const std::vector<std::string> command = take_command(argc, argv);
    return tools::run_tool(info, argc, argv, [&](CLI::App& app) { return set_up(app, command); });
}
