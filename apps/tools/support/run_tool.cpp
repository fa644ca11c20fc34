#include "apps/tools/support/run_tool.hpp"

#include "apps/tools/support/options.hpp"
#include "apps/tools/support/wrong_word.hpp"
#include "collectives/chooser.hpp"
#include "db/lookup.hpp"
#include "libcore/environment.hpp"
#include "libcore/error.hpp"
#include "libcore/log.hpp"
#include "libcore/text.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>

namespace attune::tools {
namespace {

constexpr std::size_t help_columns = 100;
constexpr std::size_t help_indent = 34;

// Names and the one word for the kind of value, instead of CLI11's TEXT:{...} and internal type names.
class HelpFormatter final : public CLI::Formatter {
public:
    HelpFormatter() { column_width(help_indent); }

    std::string make_usage(const CLI::App* app, std::string name) const override {
        const std::string usage = CLI::Formatter::make_usage(app, name);
        const std::size_t end = usage.find_last_not_of('\n') + 1;
        return "\n" + usage.substr(0, end) + (app->get_prefix_command() ? " -- COMMAND [ARGUMENTS...]" : "") + usage.substr(end);
    }

    std::string make_option_opts(const CLI::Option* option) const override {
        if (option->get_type_size() == 0) {
            return "";
        }
        const std::string kind = option->get_type_name();
        const std::string many = option->get_expected_max() > 1 ? "..." : "";
        return (kind.empty() ? "" : " " + kind.substr(0, kind.find(':'))) + many;
    }
};

// Always exactly one line, so that scripts can read it.
int complain(const std::string& name, std::string message, int code) {
    std::replace(message.begin(), message.end(), '\n', ' ');
    std::fprintf(stderr, "%s: %s\n", name.c_str(), message.c_str());
    return code;
}

void print_help(const CLI::App& app) {
    std::string text = wrap_lines(app.help(), help_columns, help_indent);
    // A group of hidden options leaves an empty line of its own.
    for (std::size_t at = text.find("\n\n\n"); at != std::string::npos; at = text.find("\n\n\n"))
        text.erase(at, 1);
    std::fputs(text.c_str(), stdout);
}

// Every line of the example two columns in, also when the tool gave it so.
std::string footer(const std::string& example) {
    std::string text = example.empty() ? "" : "Example:\n";
    for (const std::string& line : core::split(example, '\n')) {
        text += "  " + line.substr(std::min(line.find_first_not_of(' '), line.size())) + '\n';
    }
    return text.substr(0, text.find_last_not_of('\n') + 1);
}

// CLI11's own messages, as one line that says where to look.
core::Error usage_error(const CLI::ParseError& error) {
    std::string message = error.what();
    constexpr std::string_view flag_value = " was given a disallowed flag override";
    if (message.ends_with(flag_value)) message = "--" + message.substr(0, message.size() - flag_value.size()) + " takes no value";
    if (message.starts_with("A ")) {
        message.front() = 'a';  // "A subcommand is required"
    }
    return core::Error(core::ErrorCode::usage, message + "; see --help");
}

// Throws core::Error for wrong words; CLI::Success for --help and --version.
void parse(CLI::App& app, int argc, const char* const* argv) {
    const auto check_words = [&app] {
        if (const auto wrong = wrong_word(app)) {
            throw core::Error(core::ErrorCode::usage, *wrong);
        }
    };
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success&) {
        throw;
    } catch (const CLI::ParseError& error) {
        check_words();
        throw usage_error(error);
    } catch (const core::Error&) {
        check_words();
        throw;
    }
    check_words();
}

// Also the words that this very tool does not need: who set them meant something.
void check_environment(const core::Environment& environment) {
    (void)core::log_level_of(environment, core::LogLevel::warn);
    (void)core::timeout_ns_of(environment);
    (void)core::checks_calls(environment);
    (void)transport_of(environment);
    (void)collectives::ForcedChoices::of(environment);
    (void)db::rules_of(environment);
}

// "--json=0" would turn a flag off that nobody turned on.
void refuse_values_of_flags(CLI::App& app) {
    for (CLI::Option* option : app.get_options())
        if (option->get_items_expected_max() == 0) option->disable_flag_override();
    for (CLI::App* subcommand : app.get_subcommands([](const CLI::App*) { return true; }))
        refuse_values_of_flags(*subcommand);
}

int parse_and_run(const ToolInfo& info, int argc, const char* const* argv, const Setup& setup) {
    CLI::App app(info.description, info.name);
    app.formatter(std::make_shared<HelpFormatter>());
    app.set_help_flag("-h,--help", "Print this help");
    app.set_version_flag("--version", info.name + " " + std::string(version()), "Print the version");
    set_example(app, info.example);
    const Body body = setup(app);
    refuse_values_of_flags(app);
    try {
        parse(app, argc, argv);
    } catch (const CLI::CallForVersion& call) {
        std::printf("%s\n", call.what());
        return 0;
    } catch (const CLI::Success&) {
        print_help(app);
        return 0;
    }
    check_environment(core::read_environment());
    const core::Log log(core::LogLevel::warn, info.name);
    for (const std::string& line : core::unknown_variables()) {
        log.warn(line);
    }
    return body();
}

}  // namespace

int run_tool(const ToolInfo& info, int argc, const char* const* argv, const Setup& setup) {
    int code = 0;
    try {
        code = parse_and_run(info, argc, argv, setup);
    } catch (const core::Error& error) {
        code = complain(info.name, error.what(), error.exit_code());
    } catch (const std::exception& error) {
        code = complain(info.name, error.what(), 1);
    }
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
        return complain(info.name, "cannot write to standard output", code == 0 ? 1 : code);
    }
    return code;
}

void set_example(CLI::App& app, const std::string& example) {
    app.footer(footer(example));
}

std::vector<std::string> command_words(const CLI::App& app) {
    std::vector<std::string> words = app.remaining();
    if (!words.empty() && words.front() == "--") {
        words.erase(words.begin());
    }
    return words;
}

std::string wrap_lines(std::string_view text, std::size_t columns, std::size_t indent) {
    std::string wrapped;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string line(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        // Only described options are continued under their description.
        const std::size_t start = line.starts_with("  ") ? indent : 0;
        while (line.size() > columns) {
            const std::size_t space = line.rfind(' ', columns);
            if (space == std::string::npos || space <= start) {
                break;
            }
            wrapped += line.substr(0, space) + '\n';
            line = std::string(start, ' ') + line.substr(space + 1);
        }
        wrapped += line + '\n';
    }
    return wrapped;
}

}  // namespace attune::tools
