// Ranks that another launcher started, or nobody: they meet at rank 0's address.
#pragma once

#include "collectives/bootstrap.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace attune::collectives {

struct TcpMeetingPoint {
    Rank rank = 0;
    int size = 1;
    std::string address;  // rank 0's host name or address; rank 0 listens there and nowhere else
    std::uint16_t port = 0;
    std::optional<core::Digest> secret;            // needed unless the address is loopback
    std::function<void(const std::string&)> warn;  // gets a line about each stranger; may be empty
    std::chrono::milliseconds patience = bootstrap_patience;
};

// Collective: returns when all ranks have proven each other. Descriptors travel between ranks of one machine whose processes see each other. Throws
// Error(usage) for an impossible rank, an unknown host or a missing secret, Error(failure) when somebody does not come.
std::unique_ptr<Bootstrap> make_tcp_bootstrap(const TcpMeetingPoint& where);

// The job's secret: a regular file of 32 bytes to 4 KiB that belongs to us and that nobody else may read. Throws Error(usage), Error(not_found).
core::Digest read_secret_file(const std::string& path);

}  // namespace attune::collectives
