// The frame of every tool: --help, --version, wrong words, and errors as one line with the right exit code.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace attune::tools {

struct ToolInfo {
    std::string name;         // "attune-bench"; also the prefix of every message
    std::string description;  // one or two sentences
    std::string example;      // real command lines, printed at the end of --help
};

// What runs after the words on the command line have been accepted; returns the exit code.
using Body = std::function<int()>;
// Adds options and subcommands to the app and returns the body. Options are best kept in a std::shared_ptr<Options> that the body captures.
using Setup = std::function<Body(CLI::App& app)>;

// Parses, runs and returns the exit code of the process. A core::Error becomes one line on stderr and its own code; a wrong word exits 2 and names the nearest
// right one; any other exception exits 1. So do wrong words in ATTUNE_*
// variables. Also warns about unknown ATTUNE_* variables, and fails when standard output could not be written.
//
// A tool that takes a command (`attune-run -n 4 -- CMD ARGS`) calls app.prefix_command() in its setup and command_words(app) in its body.
int run_tool(const ToolInfo& info, int argc, const char* const* argv, const Setup& setup);

// Command lines at the end of a subcommand's --help; else it shows those of the tool.
void set_example(CLI::App& app, const std::string& example);

// The words of the command of a prefix_command() app, without the leading "--".
std::vector<std::string> command_words(const CLI::App& app);

// The version of this build, "0.1.0".
std::string_view version() noexcept;

// Breaks lines longer than `columns` at spaces; continuation lines start at column `indent`.
std::string wrap_lines(std::string_view text, std::size_t columns, std::size_t indent);

}  // namespace attune::tools
