// A transport by its name, over any way the ranks meet.
#pragma once

#include "collectives/bootstrap.hpp"
#include "collectives/node_map.hpp"
#include "collectives/transport/transport.hpp"

#include <memory>
#include <string>

namespace attune::collectives {

// Throws Error(usage) naming the nearest.
void require_transport_name(const std::string& name);
// Collective over the bootstrap, except with one rank. `local`: the ranks are threads of one process, else Error(usage).
std::unique_ptr<Transport> make_transport(Bootstrap& bootstrap, const std::string& name, const TransportOptions& options, const NodeMap& nodes);

}  // namespace attune::collectives
