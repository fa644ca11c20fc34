#include "collectives/transport_factory.hpp"

#include "libcore/error.hpp"
#include "libcore/text.hpp"

#include <fmt/format.h>

#include <vector>

namespace attune::collectives {

void require_transport_name(const std::string& name) {
    const std::vector<std::string> known = {"local", "shm", "tcp", "mixed"};
    core::require_word("transport", name, known);
}

std::unique_ptr<Transport> make_transport(Bootstrap& bootstrap, const std::string& name, const TransportOptions& options, const NodeMap& nodes) {
    require_transport_name(name);
    // One rank has nobody to exchange with: memory of its own is enough for any transport.
    if (bootstrap.size() == 1) return std::move(make_local_transports(1, options).front());
    if (name == "shm") return make_shm_transport(bootstrap, options);
    if (name == "tcp") return make_tcp_transport(bootstrap, options);
    if (name == "mixed") return make_mixed_transport(bootstrap, options, nodes);
    return make_local_transport(bootstrap, options);
}

}  // namespace attune::collectives
