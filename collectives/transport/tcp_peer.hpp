// All that joins this rank and one other: the lanes, and the streams that carry them. One stream carries all channels; further ones, once they are there,
// take their channel over.
#pragma once

#include "collectives/transport/tcp_connection.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <poll.h>

namespace attune::collectives {

class TcpPeer {
public:
    // The first stream carries everything. `state` outlives the peer. Throws Error(failure) when there is no memory for the windows.
    TcpPeer(boost::asio::io_context& context, core::UniqueFd socket, const TcpLayout& layout, PeerState& state);

    // A stream of its own for a channel. Messages go there when the other end has been heard on it and the lane is empty, so that none overtakes another.
    void add(std::size_t channel, core::UniqueFd socket);

    // Room for one message, nothing waiting before it.
    bool ready(const Lane& lane) noexcept;
    void send(const Lane& lane, const Message& message) noexcept;  // only after ready()
    void send_control(const FrameHeader& header, std::span<const std::byte> payload) noexcept { first().send_control(header, payload); }
    bool flush() noexcept;
    bool waiting() const noexcept;

    bool peek(const Lane& lane, Incoming& incoming) noexcept;
    void release(const Lane& lane) noexcept;
    void offer(const Lane& lane, const Offer& offer) noexcept { lanes_.offer(number(lane), offer); }
    void withdraw() noexcept;
    void receive_all() noexcept;

    // Tells the end of this rank; nothing is sent afterwards.
    void say_goodbye() noexcept;
    // The rank is gone: a stream ended, or its host confirms nothing any more for so long.
    bool gone(std::int64_t silence_ms) const noexcept;
    bool left() const noexcept;  // it said goodbye on all its streams, so that nothing of it is on its way
    bool unconfirmed() const noexcept;

    // Entries for poll(), and what to do with the answers.
    void watch(std::vector<pollfd>& entries) const;
    std::size_t hear(std::span<const pollfd> entries) noexcept;  // number of entries that were ours

    template <typename Visit>
    void for_each_connection(Visit visit) const {
        for (const auto& connection : connections_)
            if (connection) visit(*connection);
    }

private:
    // A further stream counts only when the other end has held it too.
    bool counts(const std::unique_ptr<TcpConnection>& connection) const noexcept {
        return connection && (connection == connections_.front() || connection->heard());
    }
    static std::size_t number(const Lane& lane) noexcept { return TcpLanes::index(lane.slot, lane.channel); }
    TcpConnection& first() noexcept { return *connections_.front(); }
    TcpConnection& route(const Lane& lane) noexcept;
    void receive(const Lane& lane) noexcept;

    boost::asio::io_context& context_;
    TcpLanes lanes_;
    PeerState& state_;
    std::array<std::unique_ptr<TcpConnection>, max_channels> connections_;  // by channel
    std::vector<TcpConnection*> routes_;                                    // by lane: where the last message went
};

}  // namespace attune::collectives
