// Texts of calls in records of fixed size.
#include "collectives/call_text.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace attune::collectives {
namespace {

TEST(CallText, ACutTextNeverReadsAsAnotherValue) {
    const auto fitted = [](std::string_view text) {
        std::array<char, 17> field{};
        fit_text(text, field);
        return std::string(field.data());
    };
    EXPECT_EQ(fitted(""), "");
    EXPECT_EQ(fitted("a=1,bytes=204800"), "a=1,bytes=204800");
    EXPECT_EQ(fitted("a=1,bytes=2048000"), "a=1,...");
    EXPECT_EQ(fitted("a=1,bytes=204,c=3"), "a=1,...");
    EXPECT_EQ(fitted("abcdefghijklmnopqrst"), "abcdefghijklm...");
}

}  // namespace
}  // namespace attune::collectives
