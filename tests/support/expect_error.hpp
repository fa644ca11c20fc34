// Expecting core::Error with a code and a part of its message.
#pragma once

#include "libcore/error.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace attune::tests {

template <class Action>
void expect_error(core::ErrorCode code, std::string_view part, const Action& action) {
    try {
        action();
        ADD_FAILURE() << "nothing was thrown; expected a message with '" << part << "'";
    } catch (const core::Error& error) {
        EXPECT_EQ(error.code(), code) << error.what();
        EXPECT_NE(std::string_view(error.what()).find(part), std::string_view::npos) << error.what();
        EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos) << "a message is one line";
    }
}

}  // namespace attune::tests
