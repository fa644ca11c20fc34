// The lanes between two ranks, both directions: what is on its way, what has arrived and where it lies. All streams between the two share them.
#pragma once

#include "collectives/transport/memory.hpp"
#include "collectives/transport/tcp_frame.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace attune::collectives {

class TcpLanes {
public:
    // Throws Error(failure) when there is no memory for the windows.
    explicit TcpLanes(const TcpLayout& layout);

    std::size_t count() const noexcept { return sends_.size(); }
    std::uint64_t fragment_bytes() const noexcept { return fragment_bytes_; }
    static constexpr std::size_t index(std::size_t slot, std::size_t channel) noexcept { return channel * in_flight_slots + slot; }

    bool has_room(std::size_t lane) const noexcept { return sends_[lane].sent - sends_[lane].consumed < window_; }
    // The peer has read all that was sent, as far as we know.
    bool idle(std::size_t lane) const noexcept { return sends_[lane].sent == sends_[lane].consumed; }
    void note_sent(std::size_t lane) noexcept { ++sends_[lane].sent; }
    // What the peer says to have read; false when that is more than was sent.
    bool credit(std::size_t lane, std::uint64_t consumed) noexcept;

    // Where the payload of the lane's next message goes, or null when it breaks the rules: too long, or outside the window.
    std::byte* begin(std::size_t lane, std::uint64_t length, std::uint64_t digest) noexcept;
    void end(std::size_t lane) noexcept;  // it is whole
    bool front(std::size_t lane, Incoming& incoming) const noexcept;
    // True when half the window has to be given back.
    bool release(std::size_t lane) noexcept;
    // Messages read, which the caller tells the peer now.
    std::uint64_t confirm(std::size_t lane) noexcept { return receives_[lane].confirmed = receives_[lane].consumed; }

    // For the message whose first piece is the lane's front; what has begun to arrive stays where it is.
    void offer(std::size_t lane, const Offer& offer) noexcept;
    // Nothing new lands outside our memory any more.
    void withdraw() noexcept;
    // Our own memory for the lane's next message.
    std::byte* fragment(std::size_t lane) noexcept;

private:
    struct SendLane {
        std::uint64_t sent = 0, consumed = 0;
    };
    struct Arrival {
        std::byte* payload = nullptr;
        std::uint64_t digest = 0;
    };
    // Message k (from 0) is arrival k mod window; without an offer it lies in the fragment of that number.
    struct ReceiveLane {
        std::uint64_t begun = 0, arrived = 0, consumed = 0, confirmed = 0;
        std::vector<Arrival> arrivals;
        Offer offer;  // the part that nothing has arrived for
    };

    std::uint64_t window_, fragment_bytes_;
    Mapping memory_;
    std::vector<SendLane> sends_;
    std::vector<ReceiveLane> receives_;
};

}  // namespace attune::collectives
