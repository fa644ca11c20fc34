// The one exception type of the project; its code is the process exit code (design, "Exit codes").
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace attune::core {

enum class ErrorCode : int {
    failure = 1,
    usage = 2,
    not_found = 3,
    check_failed = 4,
    busy = 75,
    interrupted = 130,
};

// A failure that the caller cannot treat as an ordinary answer. The message names the thing, the value, the limit and
// a remedy; `context` says where it happened (a file, a rank, a step) and is printed after the message.
class Error : public std::runtime_error {
public:
    Error(ErrorCode code, const std::string& message, std::string_view context = {});

    ErrorCode code() const noexcept { return code_; }
    int exit_code() const noexcept { return static_cast<int>(code_); }

private:
    ErrorCode code_;
};

// Error with code `usage`: "unknown <what> '<word>'; did you mean '<nearest>'?" or the list of candidates when none is near.
Error unknown_word(std::string_view what, std::string_view word, const std::string& nearest);

}  // namespace attune::core
