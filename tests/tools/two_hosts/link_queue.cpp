#include "tests/tools/two_hosts/link_queue.hpp"

#include <algorithm>
#include <utility>

namespace attune::two_hosts {

bool LinkQueue::offer(std::int64_t now, Packet packet) {
    if (bytes_ + packet.size() > options_.queue_bytes) {
        ++lost_;
        return false;
    }
    const double sending_ns = static_cast<double>(packet.size()) * 8e9 / options_.bits_per_second;
    free_at_ = std::max(free_at_, now) + static_cast<std::int64_t>(sending_ns);
    bytes_ += packet.size();
    entries_.push_back({free_at_ + options_.delay_ns, std::move(packet)});
    return true;
}

std::optional<std::int64_t> LinkQueue::next() const {
    if (entries_.empty()) return std::nullopt;
    return entries_.front().due;
}

std::optional<Packet> LinkQueue::take(std::int64_t now) {
    if (entries_.empty() || entries_.front().due > now) return std::nullopt;
    Packet packet = std::move(entries_.front().packet);
    entries_.pop_front();
    bytes_ -= packet.size();
    return packet;
}

}  // namespace attune::two_hosts
