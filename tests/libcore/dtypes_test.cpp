#include "libcore/dtypes.hpp"

#include "libcore/element.hpp"
#include "tests/support/expect_error.hpp"

#include <gtest/gtest.h>

namespace attune::core {
namespace {

TEST(DTypes, NamesAreReadBack) {
    for (const DType dtype : all_dtypes())
        EXPECT_EQ(parse_dtype(name_of(dtype)), dtype);
    EXPECT_EQ(all_dtypes().size(), 12U);
}

TEST(DTypes, AliasesAreAcceptedAndNeverPrinted) {
    EXPECT_EQ(name_of(parse_dtype("float")), "float32");
    EXPECT_EQ(name_of(parse_dtype("double")), "float64");
    EXPECT_EQ(name_of(parse_dtype("int")), "int32");
    EXPECT_EQ(name_of(parse_dtype("half")), "float16");
    EXPECT_EQ(name_of(parse_dtype("bf16")), "bfloat16");
    EXPECT_EQ(name_of(parse_dtype("uint8_t")), "uint8");
}

TEST(DTypes, SizesAndKindsMatchTheLanguagesTypes) {
    for (const DType dtype : all_dtypes()) {
        with_element_type(dtype, [&]<class T>(T) {
            EXPECT_EQ(size_of(dtype), sizeof(T)) << name_of(dtype);
            EXPECT_EQ(is_floating(dtype), is_floating_type<T>) << name_of(dtype);
            EXPECT_EQ(is_signed(dtype), is_floating_type<T> || std::is_signed_v<T>) << name_of(dtype);
        });
    }
}

TEST(DTypes, StoredValuesKeepTheirMeaning) {
    EXPECT_EQ(static_cast<int>(DType::float32), 0);
    EXPECT_EQ(static_cast<int>(DType::int64), 3);
    EXPECT_EQ(static_cast<int>(DType::int8), 4);
    EXPECT_EQ(static_cast<int>(DType::bfloat16), 11);
}

TEST(DTypes, AWrongNameIsRefusedWithTheNearest) {
    tests::expect_error(ErrorCode::usage, "did you mean 'float32'?", [] { parse_dtype("flaot32"); });
    tests::expect_error(ErrorCode::usage, "float32, float64, int32, int64, int8", [] { parse_dtype("complex_numbers"); });
    tests::expect_error(ErrorCode::usage, "dtype ''", [] { parse_dtype(""); });
}

}  // namespace
}  // namespace attune::core
