#include "collectives/transport/mixed_transport.hpp"

#include <algorithm>

namespace attune::collectives {

namespace {

// Messages through memory wake nobody who sleeps on sockets.
constexpr std::int64_t longest_rest_ns = 50'000;

}  // namespace

MixedTransport::MixedTransport(std::unique_ptr<Transport> inside, std::unique_ptr<TcpTransport> between, const NodeMap& nodes, std::uint64_t fragment_bytes)
    : inside_(std::move(inside)),
      between_(std::move(between)),
      members_(nodes.ranks_of(nodes.node_of[static_cast<std::size_t>(between_->rank())])),
      inside_ranks_(nodes.node_of.size(), -1),
      fragment_bytes_(fragment_bytes) {
    for (std::size_t i = 0; i < members_.size(); ++i)
        inside_ranks_[static_cast<std::size_t>(members_[i])] = static_cast<Rank>(i);
    near_.reserve(nodes.node_of.size());
    far_.reserve(nodes.node_of.size());
}

bool MixedTransport::post_send(const Lane& lane, const Message& message) noexcept {
    return inside(lane.peer) >= 0 ? inside_->post_send(inside_lane(lane), message) : between_->post_send(lane, message);
}

// All windows are free before anything is posted: those of the streams are asked first and cannot fill up in between.
bool MixedTransport::post_send_many(std::span<const Rank> peers, const Lane& lane, const Message& message) noexcept {
    near_.clear();
    far_.clear();
    for (const Rank peer : peers) {
        if (inside(peer) >= 0) {
            near_.push_back(inside(peer));
        } else {
            far_.push_back(peer);
        }
    }
    if (!between_->ready(far_, lane)) return false;
    if (!near_.empty() && !inside_->post_send_many(near_, {near_.front(), lane.slot, lane.channel}, message)) return false;
    return far_.empty() || between_->post_send_many(far_, lane, message);
}

bool MixedTransport::peek(const Lane& lane, std::uint64_t length, bool inline_message, Incoming& incoming) noexcept {
    if (inside(lane.peer) >= 0) return inside_->peek(inside_lane(lane), length, inline_message, incoming);
    return between_->peek(lane, length, inline_message, incoming);
}

void MixedTransport::release(const Lane& lane) noexcept {
    if (inside(lane.peer) >= 0) return inside_->release(inside_lane(lane));
    between_->release(lane);
}

void MixedTransport::offer(const Lane& lane, const Offer& offer) noexcept {
    if (inside(lane.peer) < 0) between_->offer(lane, offer);
}

void MixedTransport::publish(const CallRecord& record) noexcept {
    inside_->publish(record);
    between_->publish(record);
}

CallRecord MixedTransport::published(Rank rank) const noexcept {
    return inside(rank) >= 0 ? inside_->published(inside(rank)) : between_->published(rank);
}

CallRecord MixedTransport::published_in(Rank rank, int slot) const noexcept {
    return inside(rank) >= 0 ? inside_->published_in(inside(rank), slot) : between_->published_in(rank, slot);
}

void MixedTransport::publish_completed(std::uint64_t call) noexcept {
    inside_->publish_completed(call);
    between_->publish_completed(call);
}

std::uint64_t MixedTransport::completed(Rank rank) const noexcept {
    return inside(rank) >= 0 ? inside_->completed(inside(rank)) : between_->completed(rank);
}

// Every rank hears it directly: our node through memory, the others through their streams.
void MixedTransport::abort(std::string_view reason) noexcept {
    inside_->abort(reason);
    between_->abort(reason);
}

std::string MixedTransport::abort_reason() const {
    const std::string near = inside_->abort_reason();
    return near.empty() ? between_->abort_reason() : near;
}

std::vector<Rank> MixedTransport::dead_ranks() noexcept {
    std::vector<Rank> dead = between_->dead_ranks();
    for (const Rank rank : inside_->dead_ranks())
        dead.push_back(members_[static_cast<std::size_t>(rank)]);
    std::ranges::sort(dead);
    return dead;
}

bool MixedTransport::rest(std::int64_t ns) noexcept {
    return between_->rest(std::min(ns, longest_rest_ns));
}

}  // namespace attune::collectives
