// Packets between the ranks and the launcher's hub: one header, up to 32 KiB of bytes, up to 4 descriptors, over SOCK_SEQPACKET.
#pragma once

#include "collectives/bootstrap.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace attune::collectives {

inline constexpr std::size_t bootstrap_bytes_limit = std::size_t{32} << 10;
inline constexpr std::size_t bootstrap_descriptor_limit = 4;
// First word of every packet: tells them from the records that other users of the socket exchange (the tuner's arena).
inline constexpr std::uint32_t bootstrap_magic = 0x53425441;  // "ATBS"

enum class PacketKind : std::uint16_t {
    contribute,    // rank -> hub
    contribution,  // hub -> rank, `rank` names whose it is
    failed,        // hub -> rank, the bytes are the reason
};

struct PacketHeader {
    std::uint32_t magic = bootstrap_magic;
    PacketKind kind = PacketKind::contribute;
    std::uint16_t descriptors = 0;
    std::uint32_t sequence = 0;  // number of the all_gather
    std::int32_t rank = 0;
    std::int32_t size = 0;     // ranks of the team
    std::uint32_t length = 0;  // bytes after the header
};

struct Packet {
    PacketHeader header;
    Contribution content;
};

enum class SendState : std::uint8_t { sent, full, crowded, gone };  // crowded: too many descriptors in flight, try again later

// Never blocks, never raises SIGPIPE. Throws Error(failure) for what cannot be repaired by waiting.
SendState send_packet(int socket, PacketHeader header, std::span<const std::byte> bytes, std::span<const int> descriptors);

enum class ReceiveState : std::uint8_t { received, empty, gone, foreign };
// What is next in the socket, without taking it.
ReceiveState peek_packet(int socket);
// Never blocks. A packet that starts otherwise stays in the socket (`foreign`). Received descriptors are close-on-exec. Throws Error(failure) for
// a malformed packet or when this process has no free descriptors.
ReceiveState receive_packet(int socket, Packet& packet);

void close_all(std::vector<int>& descriptors) noexcept;
// Duplicates, close-on-exec. Throws Error(failure) when there are no free descriptors.
std::vector<int> duplicate_all(std::span<const int> descriptors);
// Throws Error(usage) when a contribution is over the limits.
void check_limits(std::span<const std::byte> bytes, std::span<const int> descriptors);

}  // namespace attune::collectives
