// Lines on stderr, "attune: warning: ...". The level is a value that callers pass on; there is no global logger.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace attune::core {

enum class LogLevel : int { error = 0, warn = 1, info = 2, debug = 3 };
LogLevel parse_log_level(std::string_view text);  // throws Error(usage) naming the nearest

// Writes one line with one write(2), so lines of several processes do not mix. Copyable, thread-safe.
class Log {
public:
    explicit Log(LogLevel level = LogLevel::warn, std::string prefix = "attune");
    using Sink = std::function<void(std::string_view line)>;
    Log(LogLevel level, std::string prefix, Sink sink);

    void error(std::string_view message) const { write(LogLevel::error, message); }
    void warn(std::string_view message) const { write(LogLevel::warn, message); }
    void info(std::string_view message) const { write(LogLevel::info, message); }
    void debug(std::string_view message) const { write(LogLevel::debug, message); }
    LogLevel level() const noexcept { return level_; }

private:
    void write(LogLevel level, std::string_view message) const;
    LogLevel level_;
    std::string prefix_;
    Sink sink_;
};

}  // namespace attune::core
