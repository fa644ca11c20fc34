#include "libcore/clock.hpp"

#include <gtest/gtest.h>

#include <string>

namespace attune::core {
namespace {

TEST(Clock, MonotonicTimeNeverGoesBack) {
    std::int64_t last = now_ns();
    EXPECT_GT(last, 0);
    MonotonicClock clock;
    for (int i = 0; i < 1000; ++i) {
        const std::int64_t next = i % 2 == 0 ? now_ns() : clock.now_ns();
        EXPECT_GE(next, last);
        last = next;
    }
}

TEST(Clock, ManualTimeMovesOnlyWhenTold) {
    ManualClock clock;
    EXPECT_EQ(clock.now_ns(), 0);
    clock.advance_ns(5);
    clock.advance_ns(7);
    EXPECT_EQ(clock.now_ns(), 12);
}

TEST(Clock, UtcTimeIsWrittenAsDocumented) {
    std::string shape = utc_now();
    EXPECT_GE(shape, "2020-01-01T00:00:00Z");
    for (char& c : shape) {
        if (c >= '0' && c <= '9') c = 'd';
    }
    EXPECT_EQ(shape, "dddd-dd-ddTdd:dd:ddZ");
}

}  // namespace
}  // namespace attune::core
