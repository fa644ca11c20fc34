#include "collectives/execution/send_queues.hpp"

#include <algorithm>
#include <span>

namespace attune::collectives {

namespace {

// Passes that a multicast waits for its slowest peer before its peers part.
constexpr std::uint32_t patience = 1000;

// The piece of a send that begins `offset` bytes into it.
Message piece_of(const Frame& frame, const Operation& operation, std::uint64_t offset) noexcept {
    const bool whole = operation.protocol == Protocol::inline_message;
    const std::uint64_t length = whole ? operation.length : std::min(operation.length - offset, frame.plan->options.fragment_bytes);
    Message message;
    message.payload = {frame.at(operation.memory, operation.offset + offset), length};
    message.digest = frame.digest;
    message.streaming = frame.streaming;
    message.inline_message = whole;
    return message;
}

std::span<const Rank> peers_of(const Plan& plan, const Operation& operation) noexcept {
    return {plan.peers.data() + operation.first_peer, operation.peer_count};
}

}  // namespace

SendQueues::SendQueues(Transport& transport) : transport_(transport), direct_(transport.direct()) {
    queues_.resize(static_cast<std::size_t>(transport.size()) * static_cast<std::size_t>(transport.channels()));
    active_.reserve(queues_.size());
}

void SendQueues::prepare(const Plan& plan) {
    if (states_.size() < plan.operations.size()) states_.resize(plan.operations.size());
    if (entries_.size() < plan.peers.size()) entries_.resize(plan.peers.size());
}

void SendQueues::send(const Frame& frame, std::uint32_t operation) noexcept {
    const Operation& what = frame.plan->operations[operation];
    if (is_direct(what.protocol)) {
        send_direct(frame, operation);
    } else if (what.peer_count > 1 && what.protocol == Protocol::staged) {
        send_together(frame, operation);
    } else {
        send_to_each(frame, operation);
    }
}

void SendQueues::send_to_each(const Frame& frame, std::uint32_t operation) noexcept {
    const Operation& what = frame.plan->operations[operation];
    const Message first = piece_of(frame, what, 0);
    for (std::uint32_t entry = what.first_peer; entry < what.first_peer + what.peer_count; ++entry) {
        const Rank peer = frame.plan->peers[entry];
        const bool may_post = queues_[queue_of(what.channel, peer)].head == none;
        const bool posted = may_post && transport_.post_send({peer, frame.slot, what.channel}, first);
        if (posted && first.payload.size() == what.length) continue;
        enqueue(frame, entry, {operation, none, posted ? first.payload.size() : 0});
    }
}

void SendQueues::send_together(const Frame& frame, std::uint32_t operation) noexcept {
    const Operation& what = frame.plan->operations[operation];
    const std::span<const Rank> peers = peers_of(*frame.plan, what);
    const Message first = piece_of(frame, what, 0);
    const bool may_post = std::ranges::all_of(peers, [&](Rank peer) { return queues_[queue_of(what.channel, peer)].head == none; });
    const bool posted = may_post && transport_.post_send_many(peers, {0, frame.slot, what.channel}, first);
    if (posted && first.payload.size() == what.length) return;
    SendState& state = states_[operation];
    state.together = true;
    state.refused = 0;
    for (std::uint32_t entry = what.first_peer; entry < what.first_peer + what.peer_count; ++entry) {
        enqueue(frame, entry, {operation, none, posted ? first.payload.size() : 0});
    }
}

void SendQueues::enqueue(const Frame& frame, std::uint32_t entry, const Entry& what) noexcept {
    const std::size_t index = queue_of(frame.plan->operations[what.operation].channel, frame.plan->peers[entry]);
    Queue& queue = queues_[index];
    entries_[entry] = what;
    append(queue.head, queue.tail, entry);
    ++states_[what.operation].peers_left;
    ++waiting_;
    if (!queue.listed) active_.push_back(static_cast<std::uint32_t>(index));  // never more than reserved: one place per queue
    queue.listed = true;
}

void SendQueues::append(std::uint32_t& head, std::uint32_t& tail, std::uint32_t entry) noexcept {
    entries_[entry].next = none;
    (head == none ? head : entries_[tail].next) = entry;
    tail = entry;
}

void SendQueues::pop(Queue& queue) noexcept {
    const Entry& entry = entries_[queue.head];
    --states_[entry.operation].peers_left;
    --waiting_;
    queue.head = entry.next;
}

bool SendQueues::push(const Frame& frame) noexcept {
    ++pass_;
    bool moved = false;
    for (std::size_t place = 0; place < active_.size();) {
        Queue& queue = queues_[active_[place]];
        moved |= queue.awaiting != none && settle(frame, queue);
        moved |= push_queue(frame, queue);
        if (!queue.empty()) {
            ++place;
            continue;
        }
        queue.listed = false;
        active_[place] = active_.back();
        active_.pop_back();
    }
    return moved;
}

bool SendQueues::push_queue(const Frame& frame, Queue& queue) noexcept {
    bool moved = false;
    while (queue.head != none) {
        const std::uint32_t head = queue.head;
        const std::uint32_t operation = entries_[head].operation;
        if (!push_one(frame, queue, operation)) return moved;
        moved = true;
        if (queue.head == head) return true;  // a part of a long message: others have their turn
    }
    return moved;
}

bool SendQueues::push_one(const Frame& frame, Queue& queue, std::uint32_t operation) noexcept {
    switch (frame.plan->operations[operation].protocol) {
        case Protocol::inline_message:
        case Protocol::staged:
            return states_[operation].together ? push_together(frame, operation) : push_alone(frame, queue);
        case Protocol::cma_get:
        case Protocol::mixed:
            return push_descriptor(frame, queue);
        case Protocol::cma_put:
            return push_put(frame, queue);
    }
    return false;
}

bool SendQueues::push_alone(const Frame& frame, Queue& queue) noexcept {
    Entry& entry = entries_[queue.head];
    const Operation& what = frame.plan->operations[entry.operation];
    const Message piece = piece_of(frame, what, entry.offset);
    if (!transport_.post_send({frame.plan->peers[queue.head], frame.slot, what.channel}, piece)) return false;
    entry.offset += piece.payload.size();
    if (entry.offset == what.length) pop(queue);
    return true;
}

bool SendQueues::all_at_head(const Frame& frame, const Operation& operation) const noexcept {
    for (std::uint32_t entry = operation.first_peer; entry < operation.first_peer + operation.peer_count; ++entry) {
        if (queues_[queue_of(operation.channel, frame.plan->peers[entry])].head != entry) return false;
    }
    return true;
}

bool SendQueues::push_together(const Frame& frame, std::uint32_t operation) noexcept {
    SendState& state = states_[operation];
    if (state.pass == pass_) return false;  // tried for another of its peers
    state.pass = pass_;
    const Operation& what = frame.plan->operations[operation];
    const Message piece = piece_of(frame, what, entries_[what.first_peer].offset);
    const std::span<const Rank> peers = peers_of(*frame.plan, what);
    if (!all_at_head(frame, what) || !transport_.post_send_many(peers, {0, frame.slot, what.channel}, piece)) {
        state.together = ++state.refused < patience;
        return false;
    }
    state.refused = 0;
    for (std::uint32_t entry = what.first_peer; entry < what.first_peer + what.peer_count; ++entry) {
        entries_[entry].offset += piece.payload.size();
        if (entries_[entry].offset == what.length) pop(queues_[queue_of(what.channel, frame.plan->peers[entry])]);
    }
    return true;
}

}  // namespace attune::collectives
