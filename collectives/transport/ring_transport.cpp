// The owner of a line writes it and then stores its sequence; the reader acknowledges with one store. Both are release stores paired with
// acquire loads; a sender reads the acknowledgement only when its last view of it says "full".
#include "collectives/transport/ring_transport.hpp"

#include "collectives/kernels/fold.hpp"
#include "collectives/transport/process_memory.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include <poll.h>

namespace attune::collectives {

namespace {

template <typename T>
T* at(std::byte* segment, std::uint64_t offset) noexcept {
    return reinterpret_cast<T*>(segment + offset);
}

void copy_to_staging(std::byte* destination, const Message& message) noexcept {
    if (message.streaming) {
        copy_streaming(destination, message.payload.data(), message.payload.size());
    } else if (!message.payload.empty()) {
        std::memcpy(destination, message.payload.data(), message.payload.size());
    }
}

// One element is the commonest small message.
void copy_small(std::byte* destination, std::span<const std::byte> payload) noexcept {
    if (payload.size() == 8) {
        std::memcpy(destination, payload.data(), 8);
    } else if (!payload.empty()) {
        std::memcpy(destination, payload.data(), payload.size());
    }
}

}  // namespace

RingTransport::RingTransport(RingTeam team) : team_(std::move(team)) {
    const RingLayout& layout = team_.layout;
    sends_.resize(layout.lanes());
    receives_.resize(layout.lanes());
    readers_.resize(layout.lanes() * layout.lane_fragments);
    std::byte* const own = team_.segments[static_cast<std::size_t>(team_.rank)];
    const std::uint64_t per_rank = layout.lanes() / static_cast<std::uint64_t>(layout.ranks);
    for (std::uint64_t lane = 0; lane < layout.lanes(); ++lane) {
        SendLane& send = sends_[lane];
        send.lines = at<HeaderLine>(own, layout.headers(lane));
        send.acknowledgement = &at<CounterLine>(own, layout.acknowledgement(lane))->value;
        send.inline_area = own + layout.inline_area(lane);
        send.fragments = own + layout.fragments(lane);
        send.direct = at<DirectLine>(own, layout.direct_line(lane));
        std::byte* const other = team_.segments[lane / per_rank];
        const std::uint64_t mine = layout.lane(team_.rank, 0, 0) + lane % per_rank;
        ReceiveLane& receive = receives_[lane];
        receive.lines = at<HeaderLine>(other, layout.headers(mine));
        receive.acknowledgement = &at<CounterLine>(other, layout.acknowledgement(mine))->value;
        receive.inline_area = other + layout.inline_area(mine);
        receive.segment = other;
        receive.direct = at<DirectLine>(other, layout.direct_line(mine));
    }
}

bool RingTransport::reached(SendLane& lane, std::uint64_t count) noexcept {
    if (lane.acknowledged >= count) return true;
    lane.acknowledged = lane.acknowledgement->load(std::memory_order_acquire);  // pairs with the store in release(): its reads are over
    return lane.acknowledged >= count;
}

void RingTransport::write_inline(SendLane& lane, const Message& message) noexcept {
    const std::uint64_t line = lane.sent % ring_lines;
    HeaderLine& header = lane.lines[line];
    if (message.payload.size() <= header_payload) {
        copy_small(header.payload.data(), message.payload);
    } else {
        std::memcpy(lane.inline_area + line * inline_limit, message.payload.data(), message.payload.size());
    }
    header.digest = message.digest;
    header.sequence.store(++lane.sent, std::memory_order_release);  // pairs with the load in peek()
}

void RingTransport::write_staged(SendLane& lane, const Message& message, const std::byte* fragment) noexcept {
    HeaderLine& header = lane.lines[lane.sent % ring_lines];
    const auto offset = static_cast<std::uint64_t>(fragment - team_.segments[static_cast<std::size_t>(team_.rank)]);
    std::memcpy(header.payload.data(), &offset, sizeof(offset));
    header.digest = message.digest;
    header.sequence.store(++lane.sent, std::memory_order_release);  // pairs with the load in peek()
}

bool RingTransport::post_send(const Lane& lane, const Message& message) noexcept {
    SendLane& send = sends_[index(lane)];
    if (!has_line(send)) return false;
    if (message.inline_message) {
        write_inline(send, message);
        return true;
    }
    const std::uint64_t fragment = send.staged % team_.layout.lane_fragments;
    if (!reached(send, send.user[fragment])) return false;
    std::byte* const staging = send.fragments + fragment * team_.layout.fragment_bytes;
    copy_to_staging(staging, message);
    write_staged(send, message, staging);
    send.user[fragment] = send.sent;
    ++send.staged;
    return true;
}

bool RingTransport::multicast_fragment_free(std::size_t shared, std::uint64_t fragment) noexcept {
    const std::uint64_t* const readers = &readers_[(shared * team_.layout.lane_fragments + fragment) * static_cast<std::size_t>(team_.layout.ranks)];
    const std::size_t per_rank = sends_.size() / static_cast<std::size_t>(team_.layout.ranks);
    for (std::size_t peer = 0; peer < static_cast<std::size_t>(team_.layout.ranks); ++peer) {
        if (!reached(sends_[peer * per_rank + shared], readers[peer])) return false;
    }
    return true;
}

bool RingTransport::post_send_many(std::span<const Rank> peers, const Lane& lane, const Message& message) noexcept {
    const auto lane_of = [&](Rank peer) -> SendLane& { return sends_[index({peer, lane.slot, lane.channel})]; };
    if (!std::ranges::all_of(peers, [&](Rank peer) { return has_line(lane_of(peer)); })) return false;
    if (message.inline_message) {
        for (const Rank peer : peers)
            write_inline(lane_of(peer), message);
        return true;
    }
    SendLane& own = lane_of(team_.rank);
    const std::size_t shared = index({0, lane.slot, lane.channel});
    const std::uint64_t fragment = own.staged % team_.layout.lane_fragments;
    if (!multicast_fragment_free(shared, fragment)) return false;
    std::byte* const staging = own.fragments + fragment * team_.layout.fragment_bytes;
    copy_to_staging(staging, message);
    std::uint64_t* const readers = &readers_[(shared * team_.layout.lane_fragments + fragment) * static_cast<std::size_t>(team_.layout.ranks)];
    std::fill_n(readers, team_.layout.ranks, 0);
    for (const Rank peer : peers) {
        SendLane& send = lane_of(peer);
        write_staged(send, message, staging);
        readers[peer] = send.sent;
    }
    ++own.staged;
    return true;
}

bool RingTransport::peek(const Lane& lane, std::uint64_t length, bool inline_message, Incoming& incoming) noexcept {
    const ReceiveLane& receive = receives_[index(lane)];
    const std::uint64_t line = receive.received % ring_lines;
    const HeaderLine& header = receive.lines[line];
    // Pairs with the stores in write_inline() and write_staged(): payload, digest and fragment are complete.
    if (header.sequence.load(std::memory_order_acquire) != receive.received + 1) return false;
    incoming.digest = header.digest;
    if (!inline_message) {
        std::uint64_t offset = 0;
        std::memcpy(&offset, header.payload.data(), sizeof(offset));
        incoming.payload = receive.segment + offset;
    } else {
        incoming.payload = length <= header_payload ? header.payload.data() : receive.inline_area + line * inline_limit;
    }
    return true;
}

void RingTransport::release(const Lane& lane) noexcept {
    ReceiveLane& receive = receives_[index(lane)];
    receive.acknowledgement->store(++receive.received, std::memory_order_release);  // pairs with the load in reached()
}

int RingTransport::read_memory(Rank rank, std::uint64_t address, std::span<std::byte> into) noexcept {
    if (process_of(rank) != process_of(team_.rank)) return collectives::read_memory(process_of(rank), address, into);
    std::memcpy(into.data(), reinterpret_cast<const void*>(address), into.size());
    return 0;
}

int RingTransport::write_memory(Rank rank, std::uint64_t address, std::span<const std::byte> from) noexcept {
    if (process_of(rank) != process_of(team_.rank)) return collectives::write_memory(process_of(rank), address, from);
    std::memcpy(reinterpret_cast<void*>(address), from.data(), from.size());
    return 0;
}

void RingTransport::publish(const CallRecord& record) noexcept {
    CallLine& line = control(team_.rank).calls[record.call % in_flight_slots];
    const auto words = std::bit_cast<std::array<std::uint64_t, CallLine::word_count>>(record);
    const std::uint64_t version = line.version.load(std::memory_order_relaxed);  // only we write it
    line.version.store(version + 1, std::memory_order_relaxed);                  // ordered by the release stores below
    // Each pairs with the load in published_in(): who sees a new word sees the odd version too.
    for (std::size_t index = 0; index < words.size(); ++index)
        line.words[index].store(words[index], std::memory_order_release);
    line.version.store(version + 2, std::memory_order_release);  // pairs with the first load in published_in()
}

CallRecord RingTransport::published_in(Rank rank, int slot) const noexcept {
    const CallLine& line = control(rank).calls[static_cast<std::size_t>(slot)];
    std::array<std::uint64_t, CallLine::word_count> words{};
    constexpr int attempts = 1000;  // a writer that dies in the middle leaves the version odd
    for (int attempt = 0; attempt < attempts; ++attempt) {
        const std::uint64_t before = line.version.load(std::memory_order_acquire);  // pairs with the last store of publish()
        // Pairs with the word stores of publish().
        for (std::size_t index = 0; index < words.size(); ++index)
            words[index] = line.words[index].load(std::memory_order_acquire);
        if (before % 2 != 0 || line.version.load(std::memory_order_relaxed) != before) continue;  // ordered after the acquire loads
        return std::bit_cast<CallRecord>(words);
    }
    return {};
}

CallRecord RingTransport::published(Rank rank) const noexcept {
    CallRecord latest;
    for (int slot = 0; slot < in_flight_slots; ++slot) {
        const CallRecord record = published_in(rank, slot);
        if (record.call > latest.call) latest = record;
    }
    return latest;
}

void RingTransport::publish_completed(std::uint64_t call) noexcept {
    control(team_.rank).completed.value.store(call, std::memory_order_release);  // pairs with completed()
}

std::uint64_t RingTransport::completed(Rank rank) const noexcept {
    return control(rank).completed.value.load(std::memory_order_acquire);  // pairs with publish_completed()
}

void RingTransport::abort(std::string_view reason) noexcept {
    Control& shared = control(0);
    std::uint64_t none = 0;
    if (!shared.abort_state.value.compare_exchange_strong(none, 1)) return;
    const std::size_t length = std::min(reason.size(), abort_text_bytes - 1);
    std::memcpy(shared.abort_text.data(), reason.data(), length);
    shared.abort_state.value.store(2, std::memory_order_release);  // pairs with abort_reason()
}

std::string RingTransport::abort_reason() const {
    const Control& shared = control(0);
    if (shared.abort_state.value.load(std::memory_order_acquire) != 2) return {};  // pairs with the last store of abort()
    return shared.abort_text.data();
}

std::vector<Rank> RingTransport::dead_ranks() noexcept {
    std::vector<Rank> dead;
    for (std::size_t rank = 0; rank < team_.pidfds.size(); ++rank) {
        if (static_cast<Rank>(rank) == team_.rank) continue;
        pollfd query{team_.pidfds[rank].get(), POLLIN, 0};
        // Without a pidfd (an old kernel) a process is missed only while its parent has not reaped it.
        const bool gone = query.fd >= 0 ? poll(&query, 1, 0) > 0 : kill(static_cast<pid_t>(team_.processes[rank]), 0) != 0 && errno == ESRCH;
        if (gone) dead.push_back(static_cast<Rank>(rank));
    }
    return dead;
}

}  // namespace attune::collectives
