// Where everything of the ring protocol lies in a rank's segment. A segment is written by its owner, except the acknowledgement lines, which
// belong to the receivers, and the direct lines. All of it starts as zero bytes and sequence numbers are never reset.
#pragma once

#include "collectives/transport/direct.hpp"
#include "collectives/transport/transport.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace attune::collectives {

inline constexpr std::size_t cache_line = 64;
// Messages of a lane that may be unread. The sender looks at the acknowledgement line once per so many messages.
inline constexpr std::uint64_t ring_lines = 8;
inline constexpr std::size_t header_payload = 48;  // bytes that travel in the header line itself
// At most so many fragments recycle per lane: a small window stays in the second-level cache.
inline constexpr std::uint64_t max_lane_fragments = 4;

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "the ring is shared between processes");

// The k-th message of a lane (from 0) uses line k mod ring_lines and has sequence k + 1. Payload: the bytes themselves up to header_payload; for
// staged messages the offset of the fragment in the sender's segment.
struct alignas(cache_line) HeaderLine {
    std::atomic<std::uint64_t> sequence;
    std::uint64_t digest;
    std::array<std::byte, header_payload> payload;
};
static_assert(sizeof(HeaderLine) == cache_line);

struct alignas(cache_line) CounterLine {
    std::atomic<std::uint64_t> value;
};

// A call record that others may read while its owner writes the next: odd version = being written.
struct alignas(cache_line) CallLine {
    static constexpr std::size_t word_count = sizeof(CallRecord) / sizeof(std::uint64_t);
    std::atomic<std::uint64_t> version;
    std::array<std::atomic<std::uint64_t>, word_count> words;
};
static_assert(sizeof(CallRecord) % sizeof(std::uint64_t) == 0);

inline constexpr std::size_t abort_text_bytes = 1024;

struct Control {
    std::array<CallLine, in_flight_slots> calls;
    CounterLine completed;
    CounterLine abort_state;  // of rank 0's segment: 0 none, 1 being written, 2 ready
    std::array<char, abort_text_bytes> abort_text;
};

// Offsets into a segment. The lane of a rank to itself holds the fragments of its multicasts.
struct RingLayout {
    int ranks = 1;
    int channels = 1;
    std::uint64_t fragment_bytes = 0;  // power of two, equal for single and multicast messages
    std::uint64_t lane_fragments = 0;

    static RingLayout make(int ranks, const TransportOptions& options);

    std::uint64_t lanes() const noexcept { return static_cast<std::uint64_t>(ranks) * in_flight_slots * static_cast<std::uint64_t>(channels); }
    std::uint64_t lane(Rank receiver, int slot, int channel) const noexcept {
        return (static_cast<std::uint64_t>(receiver) * in_flight_slots + static_cast<std::uint64_t>(slot)) * static_cast<std::uint64_t>(channels) +
               static_cast<std::uint64_t>(channel);
    }
    std::uint64_t headers(std::uint64_t lane) const noexcept { return sizeof(Control) + lane * ring_lines * sizeof(HeaderLine); }
    std::uint64_t acknowledgement(std::uint64_t lane) const noexcept { return headers(lanes()) + lane * sizeof(CounterLine); }
    std::uint64_t direct_line(std::uint64_t lane) const noexcept { return acknowledgement(lanes()) + lane * sizeof(DirectLine); }
    std::uint64_t inline_area(std::uint64_t lane) const noexcept { return direct_line(lanes()) + lane * ring_lines * Transport::inline_limit; }
    std::uint64_t fragments(std::uint64_t lane) const noexcept;
    std::uint64_t segment_bytes() const noexcept { return fragments(lanes()); }

    friend bool operator==(const RingLayout&, const RingLayout&) = default;
};

}  // namespace attune::collectives
