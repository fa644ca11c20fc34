#include "collectives/transport/tcp_frame.hpp"

#include "libcore/error.hpp"

#include <algorithm>
#include <bit>
#include <string>

namespace attune::collectives {

namespace {

constexpr std::uint64_t smallest_fragment = 4096;
// The kernel hands over what has arrived, so a piece is read in several calls anyway; larger ones leave the second-level cache before they are folded.
constexpr std::uint64_t largest_fragment = std::uint64_t{256} << 10;
constexpr std::uint64_t smallest_window = 2, largest_window = 8;

}  // namespace

TcpLayout TcpLayout::make(int ranks, const TransportOptions& options) {
    if (options.channels < 1 || options.channels > max_channels)
        throw core::Error(core::ErrorCode::failure,
                          "a transport with " + std::to_string(options.channels) + " channels; choose 1 to " + std::to_string(max_channels));
    TcpLayout layout;
    layout.ranks = ranks;
    layout.channels = options.channels;
    const auto lanes = static_cast<std::uint64_t>(std::max(1, ranks - 1)) * in_flight_slots * static_cast<std::uint64_t>(options.channels);
    const std::uint64_t share = options.staging_bytes / lanes;
    layout.fragment_bytes = std::clamp(std::bit_floor(share / largest_window), smallest_fragment, largest_fragment);
    layout.window = std::clamp(share / layout.fragment_bytes, smallest_window, largest_window);
    return layout;
}

}  // namespace attune::collectives
