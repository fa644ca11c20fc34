#include "collectives/transport/tcp_options.hpp"

#include "libcore/file.hpp"

#include <algorithm>
#include <fstream>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace attune::collectives {

namespace {

void set(int socket, int level, int name, int value) noexcept {
    ::setsockopt(socket, level, name, &value, sizeof value);
}

bool set_congestion_control(int socket, const std::string& name) noexcept {
    return ::setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name.data(), static_cast<socklen_t>(name.size())) == 0;
}

void set_buffers(int socket, std::uint64_t bytes) noexcept {
    const int size = static_cast<int>(std::min<std::uint64_t>(bytes, std::uint64_t{1} << 30));
    set(socket, SOL_SOCKET, SO_SNDBUF, size);
    set(socket, SOL_SOCKET, SO_RCVBUF, size);
}

// Linux 5.14; before, what was set once stays.
void let_buffers_grow(int socket) noexcept {
    constexpr int so_buf_lock = 72;
    set(socket, SOL_SOCKET, so_buf_lock, 0);
}

std::string default_congestion_control() {
    std::string name;
    std::ifstream("/proc/sys/net/ipv4/tcp_congestion_control") >> name;
    return name;
}

}  // namespace

TcpDefaults TcpDefaults::make(const NetworkOptions& network, bool one_host) {
    TcpDefaults defaults{network.socket_buffer_bytes, network.congestion_control};
    if (!one_host) return defaults;
    if (defaults.buffer_bytes == 0) defaults.buffer_bytes = loopback_buffer_bytes;
    if (defaults.congestion_control.empty()) defaults.congestion_control = "cubic";
    return defaults;
}

void set_up_stream(int socket, const TcpDefaults& defaults) noexcept {
    set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
    set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(socket, IPPROTO_TCP, TCP_KEEPIDLE, 10);  // s
    set(socket, IPPROTO_TCP, TCP_KEEPINTVL, 5);  // s
    set(socket, IPPROTO_TCP, TCP_KEEPCNT, 6);
    if (defaults.buffer_bytes != 0) set_buffers(socket, defaults.buffer_bytes);
    if (!defaults.congestion_control.empty()) set_congestion_control(socket, defaults.congestion_control);
}

void apply_link(int socket, const LinkOptions& link, const TcpDefaults& defaults) noexcept {
    const std::uint64_t bytes = link.socket_buffer_bytes != 0 ? link.socket_buffer_bytes : defaults.buffer_bytes;
    if (bytes != 0) {
        set_buffers(socket, bytes);
    } else {
        let_buffers_grow(socket);
    }
    const std::string& chosen = link.congestion_control.empty() ? defaults.congestion_control : link.congestion_control;
    set_congestion_control(socket, chosen.empty() ? default_congestion_control() : chosen);
}

// The kernel is asked, because what it allows depends on privileges and on the network namespace.
std::vector<std::string> congestion_controls_here() {
    const core::UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    std::vector<std::string> names;
    std::ifstream file("/proc/sys/net/ipv4/tcp_available_congestion_control");
    for (std::string name; file >> name;)
        if (set_congestion_control(socket.get(), name)) names.push_back(name);
    std::ranges::sort(names);
    return names;
}

StreamFacts stream_facts_here(const std::string& transport) {
    if (transport != "tcp" && transport != "mixed") return {};
    return {true, congestion_controls_here()};
}

}  // namespace attune::collectives
