// One authenticated stream to a peer: frames of any of their lanes in both directions. Nothing here blocks.
#pragma once

#include "collectives/transport/tcp_lanes.hpp"
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
    std::string invitation;  // the endpoint where it waits for further streams
};

class TcpConnection {
public:
    // Takes the socket. `lanes` and `peer` outlive the connection.
    TcpConnection(boost::asio::io_context& context, core::UniqueFd socket, TcpLanes& lanes, PeerState& peer);

    // Only when nothing waits and the lane has room. What the socket does not take is copied.
    void send(std::size_t lane, const Message& message) noexcept;
    void send_control(FrameHeader header, std::span<const std::byte> payload) noexcept;
    void send_credit(std::size_t lane) noexcept;
    // Pushes what was copied; true when nothing waits (also when the other end takes nothing).
    bool flush() noexcept;
    bool waiting() const noexcept { return pending_begin_ != pending_.size(); }

    // Takes what has arrived, at most one system call.
    void receive() noexcept;
    // Takes all that has arrived.
    void receive_all() noexcept;
    // Offers are no more: what is just arriving goes on in the lanes' own memory.
    void withdraw() noexcept;

    bool closed() const noexcept { return closed_; }  // nothing comes any more
    bool takes() const noexcept { return takes_; }    // what is sent; a rank that ended takes nothing, but what it sent before is still to come
    // Some frame has come: the other end holds this stream too.
    bool heard() const noexcept { return heard_; }
    // The other end said goodbye here: nothing follows.
    bool ended() const noexcept { return ended_; }
    // Bytes that the other host has not confirmed.
    bool unconfirmed() const noexcept;
    // The other host has not confirmed what was sent again and again for so long.
    bool silent_for(std::int64_t ms) const noexcept;
    int descriptor() const noexcept { return descriptor_; }

private:
    void write(FrameHeader header, std::span<const std::byte> payload) noexcept;
    std::size_t write_now(std::span<const std::byte> head, std::span<const std::byte> payload, boost::system::error_code& error) noexcept;
    void keep(std::span<const std::byte> bytes) noexcept;
    bool begin_frame() noexcept;  // false: broken stream
    void end_frame() noexcept;
    void parse_head() noexcept;
    void close() noexcept;
    void stop_writing() noexcept;
    static std::size_t lane_of(const FrameHeader& header) noexcept { return TcpLanes::index(header.slot, header.channel); }

    boost::asio::ip::tcp::socket socket_;
    TcpLanes& lanes_;
    PeerState& peer_;
    int descriptor_ = -1;
    bool closed_ = false;
    bool takes_ = true;
    bool heard_ = false, ended_ = false;
    bool drained_ = false;  // the last read found nothing

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
