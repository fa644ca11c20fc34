// shm between the ranks of a node, tcp between nodes: every peer is reached in exactly one of the two ways.
#pragma once

#include "collectives/node_map.hpp"
#include "collectives/transport/ring_transport.hpp"
#include "collectives/transport/tcp_transport.hpp"

#include <memory>
#include <string>
#include <vector>

namespace attune::collectives {

class MixedTransport final : public Transport {
public:
    // `inside` has the ranks of our node in ascending order, `between` all ranks, with connections to those of other nodes. `fragment_bytes` is equal on
    // all ranks and at most that of any part.
    MixedTransport(std::unique_ptr<Transport> inside, std::unique_ptr<TcpTransport> between, const NodeMap& nodes, std::uint64_t fragment_bytes);

    Rank rank() const noexcept override { return between_->rank(); }
    int size() const noexcept override { return between_->size(); }
    std::string_view name() const noexcept override { return "mixed"; }
    std::uint64_t fragment_bytes() const noexcept override { return fragment_bytes_; }
    int channels() const noexcept override { return between_->channels(); }
    bool oversubscribed() const noexcept override { return between_->oversubscribed(); }
    StreamFacts streams() const override { return between_->streams(); }
    void prepare(const LinkOptions& link) override { between_->prepare(link); }

    bool post_send(const Lane& lane, const Message& message) noexcept override;
    bool post_send_many(std::span<const Rank> peers, const Lane& lane, const Message& message) noexcept override;
    bool peek(const Lane& lane, std::uint64_t length, bool inline_message, Incoming& incoming) noexcept override;
    void release(const Lane& lane) noexcept override;
    void offer(const Lane& lane, const Offer& offer) noexcept override;

    void publish(const CallRecord& record) noexcept override;
    CallRecord published(Rank rank) const noexcept override;
    CallRecord published_in(Rank rank, int slot) const noexcept override;
    void publish_completed(std::uint64_t call) noexcept override;
    std::uint64_t completed(Rank rank) const noexcept override;
    void abort(std::string_view reason) noexcept override;
    std::string abort_reason() const override;
    std::vector<Rank> dead_ranks() noexcept override;
    bool has_left(Rank rank) const noexcept override { return inside(rank) < 0 && between_->has_left(rank); }
    std::int64_t process_of(Rank rank) const noexcept override { return between_->process_of(rank); }

    bool flush() noexcept override { return between_->flush(); }
    void refresh() noexcept override { between_->refresh(); }
    bool rest(std::int64_t ns) noexcept override;

private:
    // Our number of a rank inside the node, -1 = on another one.
    Rank inside(Rank rank) const noexcept { return inside_ranks_[static_cast<std::size_t>(rank)]; }
    Lane inside_lane(const Lane& lane) const noexcept { return {inside(lane.peer), lane.slot, lane.channel}; }

    std::unique_ptr<Transport> inside_;
    std::unique_ptr<TcpTransport> between_;
    std::vector<Rank> members_;       // of our node
    std::vector<Rank> inside_ranks_;  // by rank
    std::uint64_t fragment_bytes_;
    std::vector<Rank> near_, far_;  // of the multicast at hand
};

}  // namespace attune::collectives
