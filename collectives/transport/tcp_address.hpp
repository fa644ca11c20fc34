// Addresses of this host and plain sockets on them.
#pragma once

#include "libcore/file.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace attune::collectives {

using TcpDeadline = std::chrono::steady_clock::time_point;

// Numeric, without a port: "127.0.0.1", "fe80::1%eth0".
struct TcpEndpoint {
    std::string address;
    std::uint16_t port = 0;

    std::string text() const;                           // "127.0.0.1:29500", "[::1]:29500"
    static TcpEndpoint parse(const std::string& text);  // throws Error(failure)
};

inline constexpr const char* loopback_address = "127.0.0.1";
bool is_loopback(const std::string& address);
// The address of an interface of this host given by name ("eth0") or address. Throws Error(usage) naming the interfaces there are.
std::string interface_address(const std::string& interface);
// Numeric address of a host name. Throws Error(usage) when it has none.
std::string resolve(const std::string& host);

// Listens; port 0 = any. Throws Error(failure).
core::UniqueFd listen_on(const TcpEndpoint& endpoint);
// Retries a refused connection until the deadline, because the other side may not have begun yet. Non-blocking. Throws Error(failure).
core::UniqueFd connect_to(const TcpEndpoint& endpoint, TcpDeadline deadline);

// Only begins; the socket is writable once it is connected or refused. Non-blocking. Throws Error(failure).
core::UniqueFd begin_connecting(const TcpEndpoint& endpoint);

TcpEndpoint local_endpoint(int socket);
TcpEndpoint remote_endpoint(int socket);  // for messages; empty when it is gone

// poll(2) for one descriptor until the deadline; false when it passed.
bool await_descriptor(int descriptor, short events, TcpDeadline deadline);

}  // namespace attune::collectives
