#include "libcore/error.hpp"

#include <gtest/gtest.h>

namespace attune::core {
namespace {

TEST(Error, CarriesCodeMessageAndContext) {
    const Error error(ErrorCode::busy, "the journal is in use", "pid 7");
    EXPECT_EQ(error.exit_code(), 75);
    EXPECT_STREQ(error.what(), "the journal is in use (pid 7)");
    EXPECT_STREQ(Error(ErrorCode::failure, "no context").what(), "no context");
}

TEST(Error, UnknownWordNamesTheNearestOnlyWhenThereIsOne) {
    const Error near = unknown_word("op", "sun", "sum");
    EXPECT_EQ(near.code(), ErrorCode::usage);
    EXPECT_STREQ(near.what(), "unknown op 'sun'; did you mean 'sum'?");
    EXPECT_STREQ(unknown_word("op", "zzz", "").what(), "unknown op 'zzz'");
}

TEST(Error, UnknownWordKeepsForeignTextOnOneLine) {
    EXPECT_STREQ(unknown_word("op", "a\nb\x1b", "").what(), "unknown op 'a\\nb\\x1b'");
}

}  // namespace
}  // namespace attune::core
