// Making the connections of a team; shared by the transports `tcp` and `mixed`.
#pragma once

#include "collectives/transport/tcp_transport.hpp"

#include <functional>
#include <string>

namespace attune::collectives {

class Bootstrap;

using PeerFilter = std::function<bool(Rank peer)>;  // symmetric: both ends or neither want a connection

// Collective over the bootstrap, all ranks. Throws Error(failure), Error(usage).
TcpTeam make_tcp_team(Bootstrap& bootstrap, const TransportOptions& options, const PeerFilter& wanted);

inline constexpr std::uint64_t loopback_buffer_bytes = std::uint64_t{4} << 20;
// 0 and empty leave what is; a value that the system does not allow is cut (buffers) or ignored (congestion control).
void apply_socket_options(int socket, std::uint64_t buffer_bytes, const std::string& congestion_control) noexcept;

}  // namespace attune::collectives
