// The ring protocol over segments that all ranks can reach, threads or processes alike.
#pragma once

#include "collectives/transport/direct.hpp"
#include "collectives/transport/memory.hpp"
#include "collectives/transport/ring_layout.hpp"
#include "libcore/file.hpp"

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace attune::collectives {

// What a ring runs on. `segments[r]` is rank r's, mapped here.
struct RingTeam {
    RingLayout layout;
    Rank rank = 0;
    std::string_view name;
    bool oversubscribed = false;
    std::vector<std::byte*> segments;
    std::shared_ptr<void> memory;         // keeps the segments mapped
    std::vector<std::int64_t> processes;  // pid per rank
    std::vector<core::UniqueFd> pidfds;   // per rank of other processes, empty for threads
    std::string direct_refusal;           // see Transport
};

class RingTransport final : public Transport, public DirectAccess {
public:
    explicit RingTransport(RingTeam team);

    Rank rank() const noexcept override { return team_.rank; }
    int size() const noexcept override { return team_.layout.ranks; }
    std::string_view name() const noexcept override { return team_.name; }
    std::uint64_t fragment_bytes() const noexcept override { return team_.layout.fragment_bytes; }
    int channels() const noexcept override { return team_.layout.channels; }
    bool oversubscribed() const noexcept override { return team_.oversubscribed; }

    bool post_send(const Lane& lane, const Message& message) noexcept override;
    bool post_send_many(std::span<const Rank> peers, const Lane& lane, const Message& message) noexcept override;
    bool peek(const Lane& lane, std::uint64_t length, bool inline_message, Incoming& incoming) noexcept override;
    void release(const Lane& lane) noexcept override;

    void publish(const CallRecord& record) noexcept override;
    CallRecord published(Rank rank) const noexcept override;
    CallRecord published_in(Rank rank, int slot) const noexcept override;
    void publish_completed(std::uint64_t call) noexcept override;
    std::uint64_t completed(Rank rank) const noexcept override;
    void abort(std::string_view reason) noexcept override;
    std::string abort_reason() const override;
    std::vector<Rank> dead_ranks() noexcept override;
    std::int64_t process_of(Rank rank) const noexcept override { return team_.processes[static_cast<std::size_t>(rank)]; }

    std::string direct_refusal() const override { return team_.direct_refusal; }
    DirectAccess* direct() noexcept override { return team_.direct_refusal.empty() ? this : nullptr; }
    DirectLine& line_to(const Lane& lane) noexcept override { return *sends_[index(lane)].direct; }
    DirectLine& line_from(const Lane& lane) noexcept override { return *receives_[index(lane)].direct; }
    std::uint64_t posted(const Lane& lane) const noexcept override { return sends_[index(lane)].sent; }
    bool acknowledged(const Lane& lane, std::uint64_t count) noexcept override { return reached(sends_[index(lane)], count); }
    int read_memory(Rank rank, std::uint64_t address, std::span<std::byte> into) noexcept override;
    int write_memory(Rank rank, std::uint64_t address, std::span<const std::byte> from) noexcept override;

private:
    // Our side of a lane to a peer. `sent` messages so far; fragment f is free again when `user[f]` messages are acknowledged.
    struct SendLane {
        HeaderLine* lines = nullptr;
        std::atomic<std::uint64_t>* acknowledgement = nullptr;
        std::byte* inline_area = nullptr;
        std::byte* fragments = nullptr;
        DirectLine* direct = nullptr;
        std::uint64_t sent = 0;
        std::uint64_t acknowledged = 0;  // as last seen
        std::uint64_t staged = 0;        // messages that took a fragment
        std::array<std::uint64_t, max_lane_fragments> user{};
    };
    struct ReceiveLane {
        HeaderLine* lines = nullptr;
        std::atomic<std::uint64_t>* acknowledgement = nullptr;
        const std::byte* inline_area = nullptr;
        const std::byte* segment = nullptr;  // the sender's
        DirectLine* direct = nullptr;
        std::uint64_t received = 0;
    };

    std::size_t index(const Lane& lane) const noexcept { return team_.layout.lane(lane.peer, lane.slot, lane.channel); }
    Control& control(Rank rank) const noexcept { return *reinterpret_cast<Control*>(team_.segments[static_cast<std::size_t>(rank)]); }
    static bool reached(SendLane& lane, std::uint64_t count) noexcept;
    static bool has_line(SendLane& lane) noexcept { return reached(lane, lane.sent < ring_lines ? 0 : lane.sent - ring_lines + 1); }
    static void write_inline(SendLane& lane, const Message& message) noexcept;
    void write_staged(SendLane& lane, const Message& message, const std::byte* fragment) noexcept;
    bool multicast_fragment_free(std::size_t shared, std::uint64_t fragment) noexcept;

    RingTeam team_;
    std::vector<SendLane> sends_;        // by lane index; the lane to ourselves stages multicasts
    std::vector<ReceiveLane> receives_;  // by lane index, peer = sender
    // Per own (slot, channel), multicast fragment and peer: messages to acknowledge before it is free.
    std::vector<std::uint64_t> readers_;
};

}  // namespace attune::collectives
