// What travels on a connection: frames of one header and a payload, and how large the windows behind them are.
#pragma once

#include "collectives/transport/transport.hpp"

#include <cstdint>

namespace attune::collectives {

enum class FrameKind : std::uint8_t {
    data,        // a message of the lane (slot, channel of the connection)
    credit,      // only the header's `consumed`
    record,      // payload: the sender's CallRecord in `slot`
    completed,   // `digest`: all calls up to this one are over there
    abort,       // payload: the reason
    invitation,  // payload: the endpoint where the sender waits for further streams
    goodbye,     // the sender's end: all its calls are over and nothing follows. A stream that ends without it has lost its rank
};

struct FrameHeader {
    FrameKind kind = FrameKind::data;
    std::uint8_t slot = 0;
    std::uint8_t channel = 0;
    std::uint8_t reserved = 0;
    std::uint32_t length = 0;    // bytes of payload
    std::uint64_t digest = 0;    // of the call
    std::uint64_t consumed = 0;  // messages of the lane (slot, channel) in the other direction that the sender has read: gives their window back
};
static_assert(sizeof(FrameHeader) == 24);

inline constexpr std::uint32_t control_payload_limit = 1024;

// Equal on all ranks. A lane may hold so many unread messages, each in a fragment of the receiver's.
struct TcpLayout {
    int ranks = 1;
    int channels = 1;
    std::uint64_t fragment_bytes = 0;  // power of two
    std::uint64_t window = 0;          // messages

    static TcpLayout make(int ranks, const TransportOptions& options);
    friend bool operator==(const TcpLayout&, const TcpLayout&) = default;
};

}  // namespace attune::collectives
