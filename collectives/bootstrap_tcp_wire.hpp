// Packets of the bootstrap over streams, and what a contribution looks like in them.
#pragma once

#include "collectives/bootstrap.hpp"
#include "collectives/transport/tcp_address.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace attune::collectives {

enum class MeetingKind : std::uint32_t {
    contribute,  // rank -> 0
    everything,  // 0 -> rank: all contributions in rank order
    opened,      // rank -> 0: it holds duplicates of all descriptors that it can reach
    go_on,       // 0 -> rank: all do
    failed,      // 0 -> rank: the payload says why
};

struct MeetingHeader {
    MeetingKind kind = MeetingKind::contribute;
    std::uint32_t sequence = 0;  // number of the exchange
    std::uint64_t length = 0;    // bytes of payload
};

struct MeetingPacket {
    MeetingHeader header;
    std::vector<std::byte> payload;
};

// Blocking with a deadline. `peer` is for messages. Throw Error(failure): closed, too late, or longer than `limit`.
void send_meeting(int socket, const MeetingHeader& header, std::span<const std::byte> payload, TcpDeadline deadline, Rank peer);
MeetingPacket receive_meeting(int socket, std::uint64_t limit, TcpDeadline deadline, Rank peer);

// Descriptors travel as numbers of a process; whoever sees that process opens them anew.
struct OpenedElsewhere {
    std::uint64_t processes = 0;  // Host::processes
    std::int64_t process = 0;
    std::uint32_t count = 0;
    std::array<std::int32_t, 4> numbers{};
};
struct MeetingContribution {
    OpenedElsewhere descriptors;
    std::vector<std::byte> bytes;
};
inline constexpr std::uint64_t contribution_limit = (std::uint64_t{32} << 10) + sizeof(OpenedElsewhere) + sizeof(std::uint64_t);

std::vector<std::byte> serialize(const MeetingContribution& contribution);
// All of them, one behind the other. Throws Error(failure) when they are not exactly `count`.
std::vector<MeetingContribution> parse_contributions(std::span<const std::byte> bytes, std::size_t count);

}  // namespace attune::collectives
