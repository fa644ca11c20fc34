// Time as the measuring code sees it; tests inject their own.
#pragma once

#include <cstdint>
#include <string>

namespace attune::core {

// Nanoseconds of CLOCK_MONOTONIC: one clock for all processes of a node.
std::int64_t now_ns() noexcept;

class Clock {
public:
    virtual ~Clock() = default;
    virtual std::int64_t now_ns() = 0;
};
class MonotonicClock final : public Clock {
public:
    std::int64_t now_ns() override;
};
class ManualClock final : public Clock {
public:
    std::int64_t now_ns() override { return now_; }
    void advance_ns(std::int64_t by) { now_ += by; }

private:
    std::int64_t now_ = 0;
};

// UTC, "2026-11-30T13:57:00Z".
std::string utc_now();

}  // namespace attune::core
