#include "libcore/ops.hpp"

#include "tests/support/expect_error.hpp"

#include <gtest/gtest.h>

namespace attune::core {
namespace {

TEST(Ops, NamesAreReadBack) {
    for (const Op op : all_ops())
        EXPECT_EQ(parse_op(name_of(op)), op);
    EXPECT_EQ(all_ops().size(), 4U);
    EXPECT_EQ(name_of(Op::prod), "prod");
}

TEST(Ops, AWrongNameIsRefusedWithTheNearest) {
    tests::expect_error(ErrorCode::usage, "did you mean 'sum'?", [] { parse_op("summ"); });
    tests::expect_error(ErrorCode::usage, "sum, prod, min, max", [] { parse_op("average"); });
}

}  // namespace
}  // namespace attune::core
