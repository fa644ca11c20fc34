#include "tests/tools/two_hosts/wire.hpp"

#include <algorithm>
#include <utility>

#include <unistd.h>

namespace attune::two_hosts {

namespace {

constexpr std::size_t largest_packet = 65536;
constexpr int packets_at_once = 64;  // then the other end has its turn

}  // namespace

void Wire::carry(std::int64_t now) {
    for (End& end : ends_)
        take_in(end, now);
    hand_over(ends_[0].leaving, ends_[1].descriptor, now);
    hand_over(ends_[1].leaving, ends_[0].descriptor, now);
}

std::optional<std::int64_t> Wire::next() const {
    const auto first = ends_[0].leaving.next(), second = ends_[1].leaving.next();
    if (!first || !second) return first ? first : second;
    return std::min(*first, *second);
}

void Wire::take_in(End& end, std::int64_t now) {
    std::array<std::byte, largest_packet> buffer;
    for (int packet = 0; packet < packets_at_once; ++packet) {
        const ssize_t got = ::read(end.descriptor, buffer.data(), buffer.size());
        if (got <= 0) return;
        end.leaving.offer(now, Packet(buffer.begin(), buffer.begin() + got));
    }
}

// A packet that the other end does not take is lost, as on any wire.
void Wire::hand_over(LinkQueue& queue, int descriptor, std::int64_t now) {
    while (const std::optional<Packet> packet = queue.take(now)) {
        [[maybe_unused]] const ssize_t written = ::write(descriptor, packet->data(), packet->size());
    }
}

}  // namespace attune::two_hosts
