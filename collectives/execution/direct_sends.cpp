// The sends whose bytes pass no staging: descriptors that the receiver acknowledges, puts into posted slices, pieces of shared messages.
#include "collectives/execution/send_queues.hpp"
#include "collectives/execution/sharing.hpp"

#include <algorithm>
#include <optional>
#include <span>

namespace attune::collectives {

namespace {

Message note(const Frame& frame, std::span<const std::byte> bytes) noexcept {
    Message message;
    message.payload = bytes;
    message.digest = frame.digest;
    message.inline_message = true;
    return message;
}

}  // namespace

// Such a send has one peer.
void SendQueues::send_direct(const Frame& frame, std::uint32_t operation) noexcept {
    const Operation& what = frame.plan->operations[operation];
    enqueue(frame, what.first_peer, {operation, none, 0});
    Queue& queue = queues_[queue_of(what.channel, frame.plan->peers[what.first_peer])];
    if (queue.head == what.first_peer) push_one(frame, queue, operation);
}

bool SendQueues::push_descriptor(const Frame& frame, Queue& queue) noexcept {
    const std::uint32_t place = queue.head;
    Entry& entry = entries_[place];
    const Operation& what = frame.plan->operations[entry.operation];
    const Lane lane{frame.plan->peers[place], frame.slot, what.channel};
    const Descriptor descriptor{reinterpret_cast<std::uint64_t>(frame.at(what.memory, what.offset)), direct_->posted(lane) + 1};
    if (!transport_.post_send(lane, note(frame, std::as_bytes(std::span(&descriptor, 1))))) return false;
    entry.offset = descriptor.number;
    queue.head = entry.next;
    append(queue.awaiting, queue.last_awaiting, place);
    return true;
}

// Writes once the receiver's buffers of this very call are known; the flag follows the last byte.
bool SendQueues::push_put(const Frame& frame, Queue& queue) noexcept {
    const std::uint32_t place = queue.head;
    Entry& entry = entries_[place];
    const Operation& what = frame.plan->operations[entry.operation];
    const Lane lane{frame.plan->peers[place], frame.slot, what.channel};
    const DirectLine& line = direct_->line_to(lane);
    if (line.call.load(std::memory_order_acquire) != frame.call) return false;      // pairs with Call::post_buffers()
    if (line.digest.load(std::memory_order_relaxed) != frame.digest) return false;  // another call than ours: the watch finds it
    if (entry.offset < what.length) {
        const RemoteSlice& slice = frame.plan->remotes[place];
        const std::uint64_t base = line.memory[static_cast<std::size_t>(slice.memory)].load(std::memory_order_relaxed);
        const std::uint64_t length = std::min(what.length - entry.offset, direct_step_bytes);
        const int error = direct_->write_memory(lane.peer, base + slice.offset + entry.offset, {frame.at(what.memory, what.offset + entry.offset), length});
        if (error != 0) loss_ = {lane.peer, error};
        if (error != 0) return false;
        entry.offset += length;
        if (entry.offset < what.length) return true;
    }
    if (!transport_.post_send(lane, note(frame, {}))) return false;
    pop(queue);
    return true;
}

// Ends what is acknowledged, in the order of posting; helps to move the first that is not.
bool SendQueues::settle(const Frame& frame, Queue& queue) noexcept {
    bool moved = false;
    while (queue.awaiting != none) {
        const Entry& entry = entries_[queue.awaiting];
        const Operation& what = frame.plan->operations[entry.operation];
        const Rank peer = frame.plan->peers[queue.awaiting];
        if (!direct_->acknowledged({peer, frame.slot, what.channel}, entry.offset)) {
            return (what.protocol == Protocol::mixed && push_piece(frame, entry, peer)) || moved;
        }
        --states_[entry.operation].peers_left;
        --waiting_;
        queue.awaiting = entry.next;
        moved = true;
    }
    return moved;
}

bool SendQueues::push_piece(const Frame& frame, const Entry& entry, Rank peer) noexcept {
    const Operation& what = frame.plan->operations[entry.operation];
    const Pieces pieces(what.length);
    Sharing sharing(direct_->line_to({peer, frame.slot, what.channel}), entry.offset, pieces);
    const std::optional<std::uint64_t> piece = sharing.claim_back();
    if (!piece) return false;
    const std::uint64_t begin = pieces.begin(*piece);
    const int error = direct_->write_memory(peer, sharing.destination() + begin, {frame.at(what.memory, what.offset + begin), pieces.size(*piece)});
    if (error == 0) {
        sharing.wrote();
    } else {
        loss_ = {peer, error};
    }
    return error == 0;
}

}  // namespace attune::collectives
