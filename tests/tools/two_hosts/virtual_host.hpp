// A host of its own as far as the network is concerned: an anonymous network namespace with a loopback device and one end of a link. It has no name
// and lives as long as its descriptors and its processes, so nothing is left behind however the program ends.
#pragma once

#include "libcore/file.hpp"

#include <optional>
#include <string>

namespace attune::two_hosts {

struct VirtualHost {
    std::string address;        // of the link's end
    core::UniqueFd name_space;  // for setns()
    core::UniqueFd link;        // TUN device: whole IP packets, non-blocking
};

inline constexpr int link_mtu = 9000;

// Why hosts cannot be made here ("needs root and /dev/net/tun"), or nothing.
std::optional<std::string> why_impossible();
// The calling thread is back in its own namespace when this returns. Throws Error(failure).
VirtualHost make_host(const std::string& address);

}  // namespace attune::two_hosts
