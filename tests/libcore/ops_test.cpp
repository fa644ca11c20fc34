#include "libcore/ops.hpp"

#include "tests/support/expect_error.hpp"

#include <gtest/gtest.h>

namespace attune::core {
namespace {

TEST(Ops, NamesAreReadBack) {
    for (const Op op : all_ops())
        EXPECT_EQ(parse_op(name_of(op)), op);
    EXPECT_EQ(all_ops().size(), 8U);
    EXPECT_EQ(name_of(Op::prod), "prod");
    EXPECT_EQ(name_of(Op::bxor), "bxor");
}

TEST(Ops, AliasesAreAcceptedAndNeverPrinted) {
    EXPECT_EQ(name_of(parse_op("mean")), "avg");
    EXPECT_EQ(name_of(parse_op("product")), "prod");
}

TEST(Ops, AWrongNameIsRefusedWithTheNearest) {
    tests::expect_error(ErrorCode::usage, "did you mean 'sum'?", [] { parse_op("summ"); });
    tests::expect_error(ErrorCode::usage, "sum, prod, min, max, avg, band, bor, bxor", [] { parse_op("land_of_plenty"); });
}

TEST(Ops, AveragesNeedFloatsAndBitwiseOperatorsIntegers) {
    for (const DType dtype : all_dtypes()) {
        for (const Op op : {Op::sum, Op::prod, Op::min, Op::max})
            EXPECT_FALSE(unsupported(dtype, op)) << name_of(dtype) << name_of(op);
        EXPECT_EQ(unsupported(dtype, Op::avg).has_value(), !is_floating(dtype)) << name_of(dtype);
        for (const Op op : {Op::band, Op::bor, Op::bxor})
            EXPECT_EQ(unsupported(dtype, op).has_value(), is_floating(dtype)) << name_of(dtype) << name_of(op);
    }
}

TEST(Ops, TheReasonOfAnImpossiblePairNamesWhatWorks) {
    EXPECT_EQ(unsupported(DType::int32, Op::avg), "avg does not work on int32; use one of float32, float64, float16, bfloat16, or sum");
    EXPECT_EQ(unsupported(DType::bfloat16, Op::bor), "bor does not work on bfloat16; use one of int32, int64, int8, int16, uint8, uint16, uint32, uint64");
}

}  // namespace
}  // namespace attune::core
