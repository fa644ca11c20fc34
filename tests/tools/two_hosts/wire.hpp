// Carries packets between the ends of a link, both ways.
#pragma once

#include "tests/tools/two_hosts/link_queue.hpp"

#include <array>
#include <cstdint>
#include <optional>

namespace attune::two_hosts {

class Wire {
public:
    // The descriptors read and write whole packets, do not block and stay the caller's.
    Wire(const LinkOptions& options, int first, int second) : ends_{{{first, LinkQueue(options)}, {second, LinkQueue(options)}}} {}

    // Takes what has come in and hands over what has arrived.
    void carry(std::int64_t now);
    // When carry() has something to hand over, by the same clock.
    std::optional<std::int64_t> next() const;
    std::uint64_t lost() const noexcept { return ends_[0].leaving.lost() + ends_[1].leaving.lost(); }

private:
    struct End {
        int descriptor;
        LinkQueue leaving;  // towards the other end
    };
    static void take_in(End& end, std::int64_t now);
    static void hand_over(LinkQueue& queue, int descriptor, std::int64_t now);

    std::array<End, 2> ends_;
};

}  // namespace attune::two_hosts
