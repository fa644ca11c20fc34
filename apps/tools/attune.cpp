// `attune TOOL ...` starts attune-TOOL: the one next to this executable, else the one on PATH.
#include "apps/tools/support/run_tool.hpp"
#include "libcore/error.hpp"
#include "libcore/text.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

namespace {

namespace tools = attune::tools;
namespace core = attune::core;

struct Tool {
    std::string_view name;
    std::string_view job;
};
constexpr Tool known_tools[] = {
    {"bench", "time collectives, default against tuned"},
    {"tune", "search, record and publish the fastest configurations of this machine"},
    {"lookup", "what a job would use for a collective and size, and why"},
    {"db", "the tuning database: where, list, show, verify, publish, ..."},
    {"run", "start a program as ranks on this machine"},
    {"verify", "prove schedules and compiled plans correct"},
    {"simulate", "predict times at a scale and topology that need not exist"},
    {"profile", "record where the time of a program goes"},
    {"fuse", "check, explain, run and emit fused kernels"},
    {"doctor", "what disturbs measurements or breaks jobs, with the remedy"},
    {"report", "one self-contained HTML page"},
};

// Empty when the folder cannot be told; then only PATH is searched.
std::filesystem::path own_folder() {
    std::error_code error;
    return std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
}

bool is_installed(std::string_view tool) {
    return access((own_folder() / ("attune-" + std::string(tool))).c_str(), X_OK) == 0;
}

std::vector<std::string> installed_tools() {
    std::vector<std::string> names;
    for (const Tool& tool : known_tools) {
        if (is_installed(tool.name)) {
            names.emplace_back(tool.name);
        }
    }
    return names;
}

int print_help() {
    std::printf("attune finds the fastest collectives of this machine and hands them to every job.\n\nUsage: attune TOOL [ARGUMENTS...]\n\nTools:\n");
    for (const Tool& tool : known_tools) {
        if (is_installed(tool.name)) {
            std::printf("  %-10s %.*s\n", tool.name.data(), static_cast<int>(tool.job.size()), tool.job.data());
        }
    }
    std::printf(
        "\nOptions:\n  -h, --help [TOOL]  print this help, or that of the tool\n  --version          print the version\n\n"
        "Example:\n  attune bench all_reduce -n 4 -b 8 -e 1M\n");
    if (std::fflush(stdout) == 0) return 0;
    throw core::Error(core::ErrorCode::failure, std::string("cannot write to standard output: ") + std::strerror(errno));
}

// Returns only when the tool does not exist or cannot be started.
[[noreturn]] void start(const std::string& tool, std::vector<std::string> arguments) {
    const std::string program = "attune-" + tool;
    std::vector<char*> argv;
    arguments.insert(arguments.begin(), program);
    for (std::string& argument : arguments) {
        argv.push_back(argument.data());
    }
    argv.push_back(nullptr);
    const bool is_plain = tool.find('/') == std::string::npos;
    if (is_plain) {
        execv((own_folder() / program).c_str(), argv.data());
    }
    if (is_plain && errno == ENOENT) {
        execvp(program.c_str(), argv.data());
    }
    if (is_plain && errno != ENOENT) {
        throw core::Error(core::ErrorCode::failure, "cannot start " + program + ": " + std::strerror(errno));
    }
    throw core::unknown_word("tool", tool, core::nearest(tool, installed_tools()));
}

int dispatch(const std::vector<std::string>& words) {
    const std::string first = words.empty() ? "--help" : words.front();
    const bool asks_help = first == "--help" || first == "-h" || first == "help";
    if (asks_help && words.size() < 2) {
        return print_help();
    }
    if (asks_help) {
        start(words[1], {"--help"});
    }
    if (first == "--version") {
        std::printf("attune %s\n", tools::version().data());
        return 0;
    }
    if (first.starts_with('-')) {
        throw core::unknown_word("option", first, core::nearest(first, std::vector<std::string>{"--help", "--version"}));
    }
    start(first, {words.begin() + 1, words.end()});
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return dispatch({argv + 1, argv + argc});
    } catch (const core::Error& error) {
        std::fprintf(stderr, "attune: %s\n", error.what());
        return error.exit_code();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "attune: %s\n", error.what());
        return 1;
    }
}
