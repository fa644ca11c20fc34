#include "libcore/clock.hpp"

#include <fmt/format.h>

#include <ctime>

namespace attune::core {

std::int64_t now_ns() noexcept {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

std::int64_t MonotonicClock::now_ns() {
    return core::now_ns();
}

std::string utc_now() {
    timespec time{};
    clock_gettime(CLOCK_REALTIME, &time);
    std::tm parts{};
    gmtime_r(&time.tv_sec, &parts);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min,
                       parts.tm_sec);
}

}  // namespace attune::core
