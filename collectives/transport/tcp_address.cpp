#include "collectives/transport/tcp_address.hpp"

#include "libcore/error.hpp"
#include "libcore/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace attune::collectives {

namespace {

using core::Error;
using core::ErrorCode;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds connect_retry{20};

struct Address {
    sockaddr_storage storage{};
    socklen_t length = sizeof(sockaddr_storage);
    sockaddr* get() noexcept { return reinterpret_cast<sockaddr*>(&storage); }
};

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

AddressList look_up(const std::string& host, const std::string& port, int flags) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags;
    addrinfo* found = nullptr;
    const int status = ::getaddrinfo(host.c_str(), port.empty() ? nullptr : port.c_str(), &hints, &found);
    if (status != 0) throw Error(ErrorCode::usage, fmt::format("'{}' is no address or host name: {}", core::printable(host), ::gai_strerror(status)));
    return {found, &::freeaddrinfo};
}

Address address_of(const TcpEndpoint& endpoint) {
    const AddressList list = look_up(endpoint.address, std::to_string(endpoint.port), AI_NUMERICHOST | AI_NUMERICSERV);
    Address address;
    std::memcpy(&address.storage, list->ai_addr, list->ai_addrlen);
    address.length = list->ai_addrlen;
    return address;
}

std::string numeric(const sockaddr* address, socklen_t length) {
    char text[NI_MAXHOST] = {};
    const int status = ::getnameinfo(address, length, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
    return status == 0 ? text : "";
}

TcpEndpoint endpoint_of(Address& address) {
    if (address.storage.ss_family == AF_INET6)
        return {numeric(address.get(), address.length), ntohs(reinterpret_cast<const sockaddr_in6*>(&address.storage)->sin6_port)};
    return {numeric(address.get(), address.length), ntohs(reinterpret_cast<const sockaddr_in*>(&address.storage)->sin_port)};
}

struct InterfaceAddress {
    std::string name, address;
    bool version_4 = true;
};

std::vector<InterfaceAddress> interface_addresses() {
    ifaddrs* first = nullptr;
    if (::getifaddrs(&first) != 0) throw Error(ErrorCode::failure, fmt::format("cannot list the network interfaces: {}", std::strerror(errno)));
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(first, &::freeifaddrs);
    std::vector<InterfaceAddress> found;
    for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
        if (entry->ifa_addr == nullptr) continue;
        const int family = entry->ifa_addr->sa_family;
        if (family != AF_INET && family != AF_INET6) continue;
        const socklen_t length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
        found.push_back({entry->ifa_name, numeric(entry->ifa_addr, length), family == AF_INET});
    }
    std::ranges::stable_partition(found, &InterfaceAddress::version_4);
    return found;
}

core::UniqueFd open_socket(int family) {
    core::UniqueFd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) throw Error(ErrorCode::failure, fmt::format("cannot open a socket: {} (see ulimit -n)", std::strerror(errno)));
    return socket;
}

// errno of the attempt, 0 = connected, or nothing when the deadline passed first.
std::optional<int> try_connect(int socket, Address& address, TcpDeadline deadline) {
    if (::connect(socket, address.get(), address.length) == 0) return 0;
    if (errno != EINPROGRESS && errno != EINTR) return errno;
    if (!await_descriptor(socket, POLLOUT, deadline)) return std::nullopt;
    int error = 0;
    socklen_t length = sizeof error;
    ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length);
    return error;
}

bool may_come_up(int error) {
    return error == ECONNREFUSED || error == EHOSTUNREACH || error == ENETUNREACH || error == ETIMEDOUT || error == ECONNRESET;
}

}  // namespace

std::string TcpEndpoint::text() const {
    return address.find(':') == std::string::npos ? fmt::format("{}:{}", address, port) : fmt::format("[{}]:{}", address, port);
}

TcpEndpoint TcpEndpoint::parse(const std::string& text) {
    const std::size_t colon = text.rfind(':');
    TcpEndpoint endpoint;
    const char* const last = text.data() + text.size();
    const char* const port = colon == std::string::npos ? last : text.data() + colon + 1;
    const auto [end, status] = std::from_chars(port, last, endpoint.port);
    if (status != std::errc() || end != last) throw Error(ErrorCode::failure, fmt::format("'{}' is no address with a port", core::printable(text)));
    endpoint.address = text.substr(0, colon);
    if (endpoint.address.starts_with('[')) endpoint.address = endpoint.address.substr(1, endpoint.address.size() - 2);
    return endpoint;
}

bool is_loopback(const std::string& address) {
    return address.starts_with("127.") || address == "::1" || address == "::ffff:127.0.0.1";
}

std::string interface_address(const std::string& interface) {
    const std::vector<InterfaceAddress> all = interface_addresses();
    for (const InterfaceAddress& entry : all)
        if (entry.name == interface || entry.address == interface) return entry.address;
    std::vector<std::string> names;
    for (const InterfaceAddress& entry : all)
        names.push_back(fmt::format("{} ({})", entry.name, entry.address));
    throw Error(ErrorCode::usage, fmt::format("there is no network interface '{}' here; ATTUNE_INTERFACE is a name or an address of: {}",
                                              core::printable(interface), fmt::join(names, ", ")));
}

std::string resolve(const std::string& host) {
    const AddressList list = look_up(host, "", AI_ADDRCONFIG);
    for (const addrinfo* entry = list.get(); entry != nullptr; entry = entry->ai_next)
        if (entry->ai_family == AF_INET) return numeric(entry->ai_addr, entry->ai_addrlen);
    return numeric(list->ai_addr, list->ai_addrlen);
}

core::UniqueFd listen_on(const TcpEndpoint& endpoint) {
    Address address = address_of(endpoint);
    core::UniqueFd socket = open_socket(address.storage.ss_family);
    const int yes = 1;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (::bind(socket.get(), address.get(), address.length) != 0 || ::listen(socket.get(), SOMAXCONN) != 0)
        throw Error(ErrorCode::failure, fmt::format("cannot listen on {}: {}", endpoint.text(), std::strerror(errno)));
    return socket;
}

core::UniqueFd connect_to(const TcpEndpoint& endpoint, TcpDeadline deadline) {
    Address address = address_of(endpoint);
    while (true) {
        core::UniqueFd socket = open_socket(address.storage.ss_family);
        const std::optional<int> error = try_connect(socket.get(), address, deadline);
        if (error == 0) return socket;
        const bool hopeless = !error || !may_come_up(*error) || Clock::now() + connect_retry >= deadline;
        if (hopeless) throw Error(ErrorCode::failure, fmt::format("cannot connect to {}: {}", endpoint.text(), std::strerror(error.value_or(ETIMEDOUT))));
        std::this_thread::sleep_for(connect_retry);
    }
}

core::UniqueFd begin_connecting(const TcpEndpoint& endpoint) {
    Address address = address_of(endpoint);
    core::UniqueFd socket = open_socket(address.storage.ss_family);
    if (::connect(socket.get(), address.get(), address.length) != 0 && errno != EINPROGRESS && errno != EINTR)
        throw Error(ErrorCode::failure, fmt::format("cannot connect to {}: {}", endpoint.text(), std::strerror(errno)));
    return socket;
}

TcpEndpoint local_endpoint(int socket) {
    Address address;
    if (::getsockname(socket, address.get(), &address.length) != 0) return {};
    return endpoint_of(address);
}

TcpEndpoint remote_endpoint(int socket) {
    Address address;
    if (::getpeername(socket, address.get(), &address.length) != 0) return {};
    return endpoint_of(address);
}

bool await_descriptor(int descriptor, short events, TcpDeadline deadline) {
    while (true) {
        const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now()).count();
        if (left <= 0) return false;
        pollfd entry{descriptor, events, 0};
        if (::poll(&entry, 1, static_cast<int>(std::min<long long>(left, 60'000))) > 0) return true;
    }
}

}  // namespace attune::collectives
