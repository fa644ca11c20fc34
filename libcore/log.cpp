#include "libcore/log.hpp"

#include "libcore/text.hpp"

#include <array>
#include <cerrno>
#include <unistd.h>
#include <utility>
#include <vector>

namespace attune::core {

namespace {

constexpr std::array<std::string_view, 4> level_names = {"error", "warn", "info", "debug"};
constexpr std::array<std::string_view, 4> level_labels = {"error", "warning", "info", "debug"};

// One line is one write(2). A reader that is gone (EPIPE) or a full pipe must not end the job, so a failure is dropped.
void write_to_stderr(std::string_view line) {
    std::string whole(line);
    whole += '\n';
    ssize_t written = -1;
    do {
        written = ::write(STDERR_FILENO, whole.data(), whole.size());
    } while (written < 0 && errno == EINTR);
}

}  // namespace

LogLevel parse_log_level(std::string_view text) {
    const std::vector<std::string> candidates(level_names.begin(), level_names.end());
    const std::string word = require_word("log level", text, candidates);
    for (std::size_t i = 0; i < level_names.size(); ++i) {
        if (level_names[i] == word) return static_cast<LogLevel>(i);
    }
    return LogLevel::warn;  // not reached: require_word returns one of the names
}

Log::Log(LogLevel level, std::string prefix) : Log(level, std::move(prefix), write_to_stderr) {}

Log::Log(LogLevel level, std::string prefix, Sink sink) : level_(level), prefix_(std::move(prefix)), sink_(std::move(sink)) {}

void Log::write(LogLevel level, std::string_view message) const {
    if (level > level_) return;
    std::string line = prefix_;
    line += ": ";
    line += level_labels[static_cast<std::size_t>(level)];
    line += ": ";
    line += printable(message, message.size());
    sink_(line);
}

}  // namespace attune::core
