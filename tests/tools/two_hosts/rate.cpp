#include "tests/tools/two_hosts/rate.hpp"

#include "libcore/error.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <string_view>
#include <utility>

namespace attune::two_hosts {

double parse_rate(const std::string& text) {
    constexpr std::array<std::pair<std::string_view, double>, 4> units = {{{"bit", 1}, {"Kbit", 1e3}, {"Mbit", 1e6}, {"Gbit", 1e9}}};
    double value = 0;
    const char* const last = text.data() + text.size();
    const auto [end, status] = std::from_chars(text.data(), last, value);
    const std::string_view unit(end, static_cast<std::size_t>(last - end));
    for (const auto& [name, factor] : units)
        if (status == std::errc() && unit == name && value * factor >= 1) return value * factor;
    throw core::Error(core::ErrorCode::usage, fmt::format("'{}' is no rate of a link; write for example 1Gbit or 100Mbit", text));
}

}  // namespace attune::two_hosts
