// The oracle itself: it must compute by hand-checked rules and notice schedules that cannot be executed.
#include "tests/support/reference_walk.hpp"

#include "libcore/half.hpp"
#include "tests/collectives/small_schedules.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace attune::collectives {
namespace {

using namespace small;

template <typename T>
T result_of(core::DType dtype, core::Op op, T first, T second) {
    Problem problem = problem_of(Collective::all_reduce, 2, n);
    problem.dtype = dtype;
    problem.op = op;
    std::vector<test::UserBuffers> buffers = test::make_buffers(problem);
    for (std::size_t element = 0; element < n; ++element) {
        std::memcpy(buffers[0].input.data() + element * sizeof(T), &first, sizeof(T));
        std::memcpy(buffers[1].input.data() + element * sizeof(T), &second, sizeof(T));
    }
    test::walk(problem, exchange(), buffers);
    EXPECT_EQ(buffers[0].output, buffers[1].output);
    T result;
    std::memcpy(&result, buffers[0].output.data() + (n - 1) * sizeof(T), sizeof(T));
    return result;
}

TEST(ReferenceWalk, ComputesEveryOperator) {
    EXPECT_EQ(result_of(core::DType::float32, core::Op::sum, 1.5f, 2.25f), 3.75f);
    EXPECT_EQ(result_of(core::DType::float64, core::Op::prod, 1.5, -2.0), -3.0);
    EXPECT_EQ(result_of<std::int32_t>(core::DType::int32, core::Op::min, -7, 3), -7);
    EXPECT_EQ(result_of<std::int64_t>(core::DType::int64, core::Op::max, -7, 3), 3);
    EXPECT_EQ(result_of<std::int32_t>(core::DType::int32, core::Op::sum, std::numeric_limits<std::int32_t>::max(), 1),
              std::numeric_limits<std::int32_t>::min());
}

TEST(ReferenceWalk, WrapsSmallIntegersAndRoundsSixteenBitFloatsToEven) {
    EXPECT_EQ(result_of<std::uint8_t>(core::DType::uint8, core::Op::sum, 200, 100), 44);
    EXPECT_EQ(result_of<std::int8_t>(core::DType::int8, core::Op::bxor, -1, 15), -16);
    const auto sum = result_of(core::DType::bfloat16, core::Op::sum, core::Bfloat16(256), core::Bfloat16(1));  // halfway between 256 and 258
    EXPECT_EQ(static_cast<float>(sum), 256.0F);
}

TEST(ReferenceWalk, OrdersZerosAndHasOneNaN) {
    EXPECT_TRUE(std::signbit(result_of(core::DType::float32, core::Op::min, 0.0f, -0.0f)));
    EXPECT_FALSE(std::signbit(result_of(core::DType::float32, core::Op::max, -0.0f, 0.0f)));
    const float negative_nan = -std::numeric_limits<float>::quiet_NaN();
    for (const core::Op op : core::all_ops()) {
        if (core::unsupported(core::DType::float32, op)) continue;
        const float result = result_of(core::DType::float32, op, negative_nan, 1.0f);
        EXPECT_TRUE(std::isnan(result));
        EXPECT_FALSE(std::signbit(result));
    }
}

void expect_throw(const std::function<void(std::vector<Schedule>&)>& change) {
    std::vector<Schedule> schedules = exchange();
    change(schedules);
    const Problem problem = problem_of(Collective::all_reduce, 2, n);
    std::vector<test::UserBuffers> buffers = test::make_buffers(problem);
    EXPECT_THROW(test::walk(problem, schedules, buffers), std::runtime_error);
}

TEST(ReferenceWalk, ThrowsWhenMessagesAreMissingLeftOverOrOfAnotherLength) {
    expect_throw([](auto& s) { s[0].steps.erase(s[0].steps.begin()); });
    expect_throw([](auto& s) { s[0].steps.push_back(s[0].steps[0]); });
    expect_throw([](auto& s) { s[0].steps[0].length = n - 1; });
}

}  // namespace
}  // namespace attune::collectives
