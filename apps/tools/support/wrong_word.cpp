#include "apps/tools/support/wrong_word.hpp"

#include "libcore/text.hpp"

#include <algorithm>
#include <vector>

namespace attune::tools {
namespace {

std::vector<std::string> option_names(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options()) {
        if (option->get_group().empty()) continue;  // not in the help
        for (const std::string& name : option->get_lnames()) {
            names.push_back("--" + name);
        }
        for (const std::string& name : option->get_snames()) {
            names.push_back("-" + name);
        }
    }
    return names;
}

std::vector<std::string> subcommand_names(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::App* subcommand : app.get_subcommands([](const CLI::App*) { return true; })) {
        names.push_back(subcommand->get_name());
    }
    return names;
}

std::string listed(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) {
        text += (text.empty() ? "" : ", ") + word;
    }
    return text;
}

bool is_option(const std::string& word) {
    return word.size() > 1 && word.front() == '-' && word != "--";
}

std::string unknown_option(const CLI::App& app, const std::string& word) {
    const std::string name = word.substr(0, word.find('='));
    // A short name is too short to have a near one, except the long name it is a dash short of ("-json").
    const std::string closest = core::nearest(name.starts_with("--") || name.size() < 3 ? name : "-" + name, option_names(app));
    const bool helpful = !closest.empty() && name.size() > 2;
    return "unknown option " + name + (helpful ? "; did you mean " + closest + "?" : "; the options are listed by --help");
}

std::string unknown_argument(const CLI::App& app, const std::string& word) {
    const std::vector<std::string> names = subcommand_names(app);
    if (names.empty()) {
        return "unexpected argument '" + word + "'; the arguments are listed by --help";
    }
    const std::string closest = core::nearest(word, names);
    return "unknown subcommand '" + word + "'" + (closest.empty() ? "; it is one of " + listed(names) : "; did you mean '" + closest + "'?");
}

// With prefix_command() everything from the first plain word (or "--") on belongs to the command.
std::vector<std::string> left_over(const CLI::App& app) {
    std::vector<std::string> words = app.remaining();
    if (!app.get_prefix_command()) {
        std::erase(words, "--");
        return words;
    }
    words.erase(std::find_if_not(words.begin(), words.end(), is_option), words.end());
    return words;
}

}  // namespace

std::optional<std::string> wrong_word(const CLI::App& app) {
    const std::vector<std::string> words = left_over(app);
    // An unknown option usually strands its value too: the option is what went wrong.
    const auto option = std::find_if(words.begin(), words.end(), is_option);
    if (option != words.end()) {
        return unknown_option(app, *option);
    }
    if (!words.empty()) {
        return unknown_argument(app, words.front());
    }
    for (const CLI::App* chosen : app.get_subcommands()) {
        if (auto found = wrong_word(*chosen)) {
            return found;
        }
    }
    return std::nullopt;
}

}  // namespace attune::tools
