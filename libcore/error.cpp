#include "libcore/error.hpp"

#include "libcore/text.hpp"

namespace attune::core {

namespace {

std::string with_context(const std::string& message, std::string_view context) {
    if (context.empty()) return message;
    return message + " (" + std::string(context) + ")";
}

}  // namespace

Error::Error(ErrorCode code, const std::string& message, std::string_view context) : std::runtime_error(with_context(message, context)), code_(code) {}

Error unknown_word(std::string_view what, std::string_view word, const std::string& nearest) {
    std::string message = "unknown " + std::string(what) + " '" + printable(word) + "'";
    if (!nearest.empty()) message += "; did you mean '" + nearest + "'?";
    return Error(ErrorCode::usage, message);
}

}  // namespace attune::core
