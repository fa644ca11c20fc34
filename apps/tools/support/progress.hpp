// Progress on stderr: a bar that redraws itself on a terminal; elsewhere one plain line about every ten seconds; with --quiet nothing.
#pragma once

#include "libcore/clock.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace attune::tools {

enum class ProgressMode { bar, lines, none };
// From --quiet and from whether stderr is a terminal.
ProgressMode progress_mode(bool quiet);

struct ProgressOptions {
    ProgressMode mode = ProgressMode::none;
    std::string title;  // "tuning"
    std::size_t columns = 100;
    core::Clock* clock = nullptr;                // default: the monotonic clock
    std::function<void(std::string_view)> sink;  // default: stderr
};

class Progress {
public:
    explicit Progress(ProgressOptions options);
    ~Progress();  // finishes
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    // fraction in [0, 1]; seconds_left when known, else estimated from the fraction; `detail` is what runs now. Redraws at most ten times a second.
    void update(double fraction, std::string_view detail, std::optional<double> seconds_left = std::nullopt);
    // Removes the bar, so that ordinary lines can follow. Safe to call twice.
    void finish();

private:
    std::string line(double fraction, std::string_view detail, double seconds_left) const;
    core::MonotonicClock monotonic_;
    ProgressOptions options_;
    std::int64_t started_ns_ = 0;
    std::optional<std::int64_t> shown_ns_;
    bool drawn_ = false;
};

// "1:05 left", "2:03:00 left".
std::string time_left(double seconds);

}  // namespace attune::tools
