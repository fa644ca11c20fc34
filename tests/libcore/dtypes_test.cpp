#include "libcore/dtypes.hpp"

#include "tests/support/expect_error.hpp"

#include <gtest/gtest.h>

namespace attune::core {
namespace {

TEST(DTypes, NamesAreReadBack) {
    for (const DType dtype : all_dtypes())
        EXPECT_EQ(parse_dtype(name_of(dtype)), dtype);
    EXPECT_EQ(all_dtypes().size(), 4U);
}

TEST(DTypes, AliasesAreAcceptedAndNeverPrinted) {
    EXPECT_EQ(name_of(parse_dtype("float")), "float32");
    EXPECT_EQ(name_of(parse_dtype("double")), "float64");
    EXPECT_EQ(name_of(parse_dtype("int")), "int32");
}

TEST(DTypes, SizesAndKindsMatchTheLanguagesTypes) {
    EXPECT_EQ(size_of(DType::float32), sizeof(float));
    EXPECT_EQ(size_of(DType::float64), sizeof(double));
    EXPECT_EQ(size_of(DType::int32), sizeof(std::int32_t));
    EXPECT_EQ(size_of(DType::int64), sizeof(std::int64_t));
    EXPECT_TRUE(is_floating(DType::float32) && is_floating(DType::float64));
    EXPECT_FALSE(is_floating(DType::int32) || is_floating(DType::int64));
}

TEST(DTypes, AWrongNameIsRefusedWithTheNearest) {
    tests::expect_error(ErrorCode::usage, "did you mean 'float32'?", [] { parse_dtype("flaot32"); });
    tests::expect_error(ErrorCode::usage, "float32, float64, int32, int64", [] { parse_dtype("bfloat16_and_more"); });
    tests::expect_error(ErrorCode::usage, "dtype ''", [] { parse_dtype(""); });
}

}  // namespace
}  // namespace attune::core
