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

}  // namespace attune::collectives
