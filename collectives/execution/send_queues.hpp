// Sends never block the program: what finds no room waits here, in order per (peer, channel), while other peers go on.
#pragma once

#include "collectives/execution/frame.hpp"

#include <cstdint>
#include <vector>

namespace attune::collectives {

// The sends of one call. A multicast goes out as one staged fragment for all its peers; when one of them lags for long, the rest of that message
// goes to each peer by itself, so no peer waits for another for ever.
class SendQueues {
public:
    explicit SendQueues(Transport& transport);

    // Makes room for the plan; allocates only when it is larger than all before. All queues are empty then.
    void prepare(const Plan& plan);

    // Posts what fits and queues the rest.
    void send(const Frame& frame, std::uint32_t operation) noexcept;
    // Posts at most one fragment per peer and channel. True when something went out.
    bool push(const Frame& frame) noexcept;

    bool idle() const noexcept { return waiting_ == 0; }
    // Nothing moves to this peer any more.
    const Loss& loss() const noexcept { return loss_; }
    // Nothing of this send still reads the user's buffer.
    bool sent(std::uint32_t operation) const noexcept { return states_[operation].peers_left == 0; }
    // Peers with a queued send, each once per channel.
    template <typename Visit>
    void for_each_awaited(Visit visit) const {
        for (std::size_t queue = 0; queue < queues_.size(); ++queue) {
            if (!queues_[queue].empty()) visit(static_cast<Rank>(queue % static_cast<std::size_t>(transport_.size())));
        }
    }

private:
    static constexpr std::uint32_t none = ~std::uint32_t{0};

    // One peer of one send that is not over; its index is that of the peer in Plan::peers.
    struct Entry {
        std::uint32_t operation = 0;
        std::uint32_t next = none;
        std::uint64_t offset = 0;  // bytes sent; of an awaiting one: its number on the lane
    };
    struct Queue {
        std::uint32_t head = none, tail = none;               // still to post
        std::uint32_t awaiting = none, last_awaiting = none;  // posted, but the receiver must acknowledge that it has read them
        bool listed = false;                                  // in active_

        bool empty() const noexcept { return head == none && awaiting == none; }
    };
    // All zero between calls.
    struct SendState {
        std::uint32_t peers_left = 0;
        std::uint32_t refused = 0;  // times in a row that a multicast found no room
        std::uint64_t pass = 0;     // of the last attempt
        bool together = false;      // a multicast whose entries move in step
    };

    std::size_t queue_of(std::uint8_t channel, Rank peer) const noexcept {
        return static_cast<std::size_t>(channel) * static_cast<std::size_t>(transport_.size()) + static_cast<std::size_t>(peer);
    }
    void send_to_each(const Frame& frame, std::uint32_t operation) noexcept;
    void send_together(const Frame& frame, std::uint32_t operation) noexcept;
    void send_direct(const Frame& frame, std::uint32_t operation) noexcept;
    void enqueue(const Frame& frame, std::uint32_t entry, const Entry& what) noexcept;
    void pop(Queue& queue) noexcept;
    void append(std::uint32_t& head, std::uint32_t& tail, std::uint32_t entry) noexcept;
    bool settle(const Frame& frame, Queue& queue) noexcept;
    bool push_piece(const Frame& frame, const Entry& entry, Rank peer) noexcept;
    bool push_descriptor(const Frame& frame, Queue& queue) noexcept;
    bool push_put(const Frame& frame, Queue& queue) noexcept;
    bool push_queue(const Frame& frame, Queue& queue) noexcept;
    bool push_one(const Frame& frame, Queue& queue, std::uint32_t operation) noexcept;
    bool push_alone(const Frame& frame, Queue& queue) noexcept;
    bool push_together(const Frame& frame, std::uint32_t operation) noexcept;
    bool all_at_head(const Frame& frame, const Operation& operation) const noexcept;

    Transport& transport_;
    DirectAccess* direct_;
    Loss loss_;
    std::vector<Queue> queues_;          // channel major
    std::vector<std::uint32_t> active_;  // queues that may hold something
    std::vector<Entry> entries_;
    std::vector<SendState> states_;  // by operation
    std::uint64_t waiting_ = 0;      // entries in queues
    std::uint64_t pass_ = 0;
};

}  // namespace attune::collectives
