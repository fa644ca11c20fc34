// One direction of an emulated link: packets leave it after the time that sending them takes at its rate, and its delay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace attune::two_hosts {

struct LinkOptions {
    std::int64_t delay_ns = 100'000;
    double bits_per_second = 1e9;
    std::size_t queue_bytes = std::size_t{4} << 20;  // what does not fit is lost, as in a switch
};

using Packet = std::vector<std::byte>;

// No clock of its own: times are nanoseconds of whatever clock the caller uses.
class LinkQueue {
public:
    explicit LinkQueue(const LinkOptions& options) : options_(options) {}

    // False: the queue was full and the packet is lost.
    bool offer(std::int64_t now, Packet packet);
    // When the next packet leaves; nothing when the link is empty.
    std::optional<std::int64_t> next() const;
    // The packet that has left by now, if any.
    std::optional<Packet> take(std::int64_t now);
    std::uint64_t lost() const noexcept { return lost_; }

private:
    struct Entry {
        std::int64_t due = 0;
        Packet packet;
    };
    LinkOptions options_;
    std::deque<Entry> entries_;
    std::int64_t free_at_ = 0;  // the wire is busy until then
    std::size_t bytes_ = 0;
    std::uint64_t lost_ = 0;
};

}  // namespace attune::two_hosts
