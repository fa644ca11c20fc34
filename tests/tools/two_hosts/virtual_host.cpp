#include "tests/tools/two_hosts/virtual_host.hpp"

#include "libcore/error.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace attune::two_hosts {

namespace {

constexpr const char* device = "link0";
constexpr const char* own_name_space = "/proc/thread-self/ns/net";

[[noreturn]] void fail(const std::string& what) {
    throw core::Error(core::ErrorCode::failure, fmt::format("cannot {}: {}", what, std::strerror(errno)));
}

ifreq request_for(const char* name) {
    ifreq request{};
    std::strncpy(request.ifr_name, name, IFNAMSIZ - 1);
    return request;
}

void set_address(int socket, unsigned long what, const std::string& address) {
    ifreq request = request_for(device);
    auto* const internet = reinterpret_cast<sockaddr_in*>(&request.ifr_addr);
    internet->sin_family = AF_INET;
    ::inet_pton(AF_INET, address.c_str(), &internet->sin_addr);
    if (::ioctl(socket, what, &request) != 0) fail("give the link the address " + address);
}

void bring_up(int socket, const char* name) {
    ifreq request = request_for(name);
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    if (::ioctl(socket, SIOCSIFFLAGS, &request) != 0) fail(std::string("bring up ") + name);
}

core::UniqueFd open_link() {
    core::UniqueFd link = core::open_file("/dev/net/tun", O_RDWR | O_NONBLOCK);
    ifreq request = request_for(device);
    request.ifr_flags = IFF_TUN | IFF_NO_PI;
    if (::ioctl(link.get(), TUNSETIFF, &request) != 0) fail("make a TUN device");
    return link;
}

void configure(const std::string& address) {
    const core::UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!socket) fail("open a socket");
    set_address(socket.get(), SIOCSIFADDR, address);
    set_address(socket.get(), SIOCSIFNETMASK, "255.255.255.0");
    ifreq request = request_for(device);
    request.ifr_mtu = link_mtu;
    if (::ioctl(socket.get(), SIOCSIFMTU, &request) != 0) fail("set the size of packets");
    request = request_for(device);
    request.ifr_qlen = 2000;  // packets between the kernel and us
    if (::ioctl(socket.get(), SIOCSIFTXQLEN, &request) != 0) fail("set the length of the queue");
    bring_up(socket.get(), "lo");
    bring_up(socket.get(), device);
}

// Leaves the present network namespace for a fresh one and comes back at the end.
class Excursion {
public:
    Excursion() : home_(core::open_file(own_name_space, O_RDONLY)) {
        if (::unshare(CLONE_NEWNET) != 0) fail("make a network namespace");
    }
    ~Excursion() { ::setns(home_.get(), CLONE_NEWNET); }
    Excursion(const Excursion&) = delete;
    Excursion& operator=(const Excursion&) = delete;

private:
    core::UniqueFd home_;
};

}  // namespace

std::optional<std::string> why_impossible() {
    try {
        make_host("10.78.0.1");
    } catch (const core::Error& error) {
        return fmt::format("two_hosts needs root and /dev/net/tun: {}", error.what());
    }
    return std::nullopt;
}

VirtualHost make_host(const std::string& address) {
    const Excursion excursion;
    VirtualHost host;
    host.address = address;
    host.name_space = core::open_file(own_name_space, O_RDONLY);
    host.link = open_link();
    configure(address);
    return host;
}

}  // namespace attune::two_hosts
