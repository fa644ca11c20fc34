#include "apps/tools/support/progress.hpp"

#include "apps/tools/support/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include <unistd.h>

namespace attune::tools {
namespace {

constexpr std::int64_t redraw_ns = 100'000'000;
constexpr std::int64_t line_ns = 10'000'000'000;
constexpr int bar_cells = 24;
constexpr std::string_view clear_line = "\r\033[K";

std::string bar(double fraction) {
    const int full = static_cast<int>(std::lround(fraction * bar_cells));
    return "[" + std::string(static_cast<std::size_t>(full), '#') + std::string(static_cast<std::size_t>(bar_cells - full), '.') + "]";
}

// Cuts at a character, never inside one, so that a narrow terminal does not wrap the bar.
std::string cut(std::string text, std::size_t columns) {
    const auto drop_byte = [&text] {
        const bool is_continuation = (static_cast<unsigned char>(text.back()) & 0xC0u) == 0x80u;
        text.pop_back();
        return is_continuation && !text.empty();
    };
    while (display_width(text) > columns) {
        while (drop_byte()) {
        }
    }
    return text;
}

}  // namespace

ProgressMode progress_mode(bool quiet) {
    if (quiet) {
        return ProgressMode::none;
    }
    return isatty(STDERR_FILENO) == 1 ? ProgressMode::bar : ProgressMode::lines;
}

Progress::Progress(ProgressOptions options) : options_(std::move(options)) {
    if (options_.clock == nullptr) {
        options_.clock = &monotonic_;
    }
    if (!options_.sink) {
        options_.sink = [](std::string_view text) {
            std::fwrite(text.data(), 1, text.size(), stderr);
            std::fflush(stderr);
        };
    }
    started_ns_ = options_.clock->now_ns();
}

Progress::~Progress() {
    finish();
}

void Progress::update(double fraction, std::string_view detail, std::optional<double> seconds_left) {
    if (options_.mode == ProgressMode::none) {
        return;
    }
    const bool is_bar = options_.mode == ProgressMode::bar;
    const std::int64_t now = options_.clock->now_ns();
    // Plain lines start after the first interval: a run shorter than that prints none.
    const std::int64_t last = shown_ns_.value_or(is_bar ? now - redraw_ns : started_ns_);
    if (now - last < (is_bar ? redraw_ns : line_ns)) {
        return;
    }
    shown_ns_ = now;
    fraction = std::clamp(fraction, 0.0, 1.0);
    const double elapsed = static_cast<double>(now - started_ns_) / 1e9;
    const double estimate = fraction > 0 ? elapsed * (1 - fraction) / fraction : -1;
    const std::string text = line(fraction, detail, seconds_left.value_or(estimate));
    options_.sink(is_bar ? std::string(clear_line) + cut(text, options_.columns - 1) : text + "\n");
    drawn_ = is_bar;
}

void Progress::finish() {
    if (drawn_) {
        options_.sink(clear_line);
        drawn_ = false;
    }
}

std::string Progress::line(double fraction, std::string_view detail, double seconds_left) const {
    const std::string left = seconds_left >= 0 ? ", " + time_left(seconds_left) : "";
    const std::string head = options_.mode == ProgressMode::bar ? options_.title + " " + bar(fraction) : options_.title + ":";
    return fmt::format("{} {:.0f} %{}{}{}", head, std::floor(fraction * 100), left, detail.empty() ? "" : "  ", detail);
}

std::string time_left(double seconds) {
    const auto whole = static_cast<std::int64_t>(std::ceil(std::clamp(seconds, 0.0, 359'999.0)));
    const std::int64_t hours = whole / 3600;
    const std::int64_t minutes = whole / 60 % 60;
    return hours > 0 ? fmt::format("{}:{:02}:{:02} left", hours, minutes, whole % 60) : fmt::format("{}:{:02} left", minutes, whole % 60);
}

}  // namespace attune::tools
