// What the parser left over: the unknown option or subcommand, with the nearest right one.
#pragma once

#include <CLI/CLI.hpp>

#include <optional>
#include <string>

namespace attune::tools {

// The message about the first word that no option, positional or subcommand of the app (or of the subcommands chosen) took; nothing when all were taken.
std::optional<std::string> wrong_word(const CLI::App& app);

}  // namespace attune::tools
