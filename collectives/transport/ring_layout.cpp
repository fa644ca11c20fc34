#include "collectives/transport/ring_layout.hpp"

#include "libcore/error.hpp"

#include <algorithm>
#include <bit>
#include <string>

namespace attune::collectives {

namespace {

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t smallest_fragment = page;
constexpr std::uint64_t largest_fragment = std::uint64_t{256} << 10;

}  // namespace

RingLayout RingLayout::make(int ranks, const TransportOptions& options) {
    if (options.channels < 1 || options.channels > max_channels) {
        throw core::Error(core::ErrorCode::failure,
                          "a transport with " + std::to_string(options.channels) + " channels; choose 1 to " + std::to_string(max_channels));
    }
    if (ranks < 1) throw core::Error(core::ErrorCode::failure, "a transport for " + std::to_string(ranks) + " ranks; at least 1 is needed");
    RingLayout layout;
    layout.ranks = ranks;
    layout.channels = options.channels;
    const std::uint64_t share = options.staging_bytes / layout.lanes();
    layout.fragment_bytes = std::clamp(std::bit_floor(share / 2), smallest_fragment, largest_fragment);
    layout.lane_fragments = std::clamp<std::uint64_t>(share / layout.fragment_bytes, 1, max_lane_fragments);
    return layout;
}

std::uint64_t RingLayout::fragments(std::uint64_t lane) const noexcept {
    const std::uint64_t begin = (inline_area(lanes()) + page - 1) / page * page;
    return begin + lane * lane_fragments * fragment_bytes;
}

}  // namespace attune::collectives
