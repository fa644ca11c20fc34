#include "libcore/log.hpp"

#include "libcore/file.hpp"
#include "tests/support/expect_error.hpp"

#include <gtest/gtest.h>

#include <array>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace attune::core {
namespace {

TEST(Log, WritesUpToItsLevelWithPrefixAndLabel) {
    std::vector<std::string> lines;
    const Log log(LogLevel::info, "attune", [&lines](std::string_view line) { lines.emplace_back(line); });
    log.error("a");
    log.warn("b");
    log.info("c");
    log.debug("d");
    EXPECT_EQ(lines, (std::vector<std::string>{"attune: error: a", "attune: warning: b", "attune: info: c"}));
    EXPECT_EQ(log.level(), LogLevel::info);
}

TEST(Log, OneMessageIsOneLineWithoutTerminalCodes) {
    std::string seen;
    const Log log(LogLevel::warn, "x", [&seen](std::string_view line) { seen = line; });
    log.warn("two\nlines\x1b[31m");
    EXPECT_EQ(seen, "x: warning: two\\nlines\\x1b[31m");
}

// A datagram socket keeps the borders of write(2).
TEST(Log, ALineOnStderrIsOneWrite) {
    std::array<int, 2> pair{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair.data()), 0);
    const UniqueFd reader(pair[0]), writer(pair[1]);
    const UniqueFd saved(::dup(STDERR_FILENO));
    ASSERT_GE(::dup2(writer.get(), STDERR_FILENO), 0);
    const Log log;
    log.warn("first " + std::string(2000, 'x'));
    log.error("second");
    ::dup2(saved.get(), STDERR_FILENO);
    std::array<char, 4096> text{};
    ASSERT_EQ(::recv(reader.get(), text.data(), text.size(), MSG_DONTWAIT), static_cast<ssize_t>(std::string_view("attune: warning: first \n").size() + 2000));
    const ssize_t second = ::recv(reader.get(), text.data(), text.size(), MSG_DONTWAIT);
    ASSERT_GT(second, 0);
    EXPECT_EQ(std::string(text.data(), static_cast<std::size_t>(second)), "attune: error: second\n");
}

TEST(Log, LevelsAreParsedByName) {
    EXPECT_EQ(parse_log_level("error"), LogLevel::error);
    EXPECT_EQ(parse_log_level("warn"), LogLevel::warn);
    EXPECT_EQ(parse_log_level("info"), LogLevel::info);
    EXPECT_EQ(parse_log_level("debug"), LogLevel::debug);
    tests::expect_error(ErrorCode::usage, "did you mean 'warn'?", [] { parse_log_level("wran"); });
}

}  // namespace
}  // namespace attune::core
