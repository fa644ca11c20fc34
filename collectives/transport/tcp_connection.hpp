// One authenticated stream to a peer: a channel with its four lanes in both directions. Nothing here blocks.
#pragma once

#include "collectives/transport/memory.hpp"
#include "collectives/transport/tcp_frame.hpp"
#include "libcore/file.hpp"

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace attune::collectives {

// What a peer has told about itself, on any of its connections.
struct PeerState {
    std::array<CallRecord, in_flight_slots> records{};
    std::uint64_t completed = 0;
    std::string abort_reason;
};

class TcpConnection {
public:
    // Takes the socket. `peer` outlives the connection. Throws Error(failure) when there is no memory for the window.
    TcpConnection(boost::asio::io_context& context, core::UniqueFd socket, const TcpLayout& layout, PeerState& peer);

    // Room for one message, nothing waiting before it.
    bool ready(std::size_t slot) noexcept;
    // Only after ready(). What the socket does not take is copied.
    void send(std::size_t slot, const Message& message) noexcept;
    void send_control(FrameHeader header, std::span<const std::byte> payload) noexcept;
    // Pushes what was copied; true when nothing waits (also when the stream is closed).
    bool flush() noexcept;
    bool waiting() const noexcept { return pending_begin_ != pending_.size(); }

    bool peek(std::size_t slot, Incoming& incoming) noexcept;
    void release(std::size_t slot) noexcept;
    // Takes what has arrived, at most one system call.
    void receive() noexcept;
    // Takes all that has arrived.
    void receive_all() noexcept;

    bool closed() const noexcept { return closed_; }
    // Bytes that the other host has not confirmed.
    bool unconfirmed() const noexcept;
    int descriptor() const noexcept { return descriptor_; }

private:
    struct SendLane {
        std::uint64_t sent = 0, consumed = 0;
    };
    // Message k (from 0) lies in fragment k mod window.
    struct ReceiveLane {
        std::byte* fragments = nullptr;
        std::uint64_t arrived = 0, consumed = 0, confirmed = 0;
        std::vector<std::uint64_t> digests;  // by fragment
    };

    void write(FrameHeader header, std::span<const std::byte> payload) noexcept;
    void keep(std::span<const std::byte> bytes) noexcept;
    bool begin_frame() noexcept;  // false: broken stream
    void end_frame() noexcept;
    void parse_head() noexcept;
    void close() noexcept;

    boost::asio::ip::tcp::socket socket_;
    TcpLayout layout_;
    PeerState& peer_;
    Mapping memory_;
    int descriptor_ = -1;
    bool closed_ = false;
    bool drained_ = false;  // the last read found nothing
    std::array<SendLane, in_flight_slots> sends_{};
    std::array<ReceiveLane, in_flight_slots> receives_{};

    std::vector<std::byte> pending_;  // [pending_begin_, end) waits for the socket
    std::size_t pending_begin_ = 0;

    // The frame that is being read: `missing_` bytes go to `target_`. Bytes after it collect in `head_`.
    FrameHeader frame_{};
    bool in_frame_ = false;
    std::byte* target_ = nullptr;
    std::size_t missing_ = 0;
    std::array<std::byte, 4096> head_{};
    std::size_t head_begin_ = 0, head_end_ = 0;
    std::array<std::byte, control_payload_limit> control_{};
};

}  // namespace attune::collectives
