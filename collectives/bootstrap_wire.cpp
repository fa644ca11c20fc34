#include "collectives/bootstrap_wire.hpp"

#include "libcore/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

namespace attune::collectives {

namespace {

using core::Error;
using core::ErrorCode;

constexpr std::size_t control_bytes = CMSG_SPACE(sizeof(int) * bootstrap_descriptor_limit);

Error out_of_descriptors(std::string_view doing) {
    return Error(ErrorCode::failure, fmt::format("no free file descriptors while {}; raise the limit (ulimit -n)", doing));
}

void attach(msghdr& message, std::span<const int> descriptors) {
    cmsghdr* control = CMSG_FIRSTHDR(&message);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(control), descriptors.data(), descriptors.size_bytes());
    message.msg_controllen = control->cmsg_len;
}

std::vector<int> detach(msghdr& message) {
    std::vector<int> descriptors;
    for (cmsghdr* control = CMSG_FIRSTHDR(&message); control != nullptr; control = CMSG_NXTHDR(&message, control)) {
        if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) continue;
        const std::size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        const std::size_t before = descriptors.size();
        descriptors.resize(before + count);
        std::memcpy(descriptors.data() + before, CMSG_DATA(control), count * sizeof(int));
    }
    return descriptors;
}

SendState send_state(int error) {
    if (error == EAGAIN || error == EWOULDBLOCK) return SendState::full;
    if (error == ETOOMANYREFS || error == ENOBUFS || error == ENOMEM) return SendState::crowded;
    if (error == EPIPE || error == ECONNRESET || error == ENOTCONN || error == ECONNREFUSED) return SendState::gone;
    throw Error(ErrorCode::failure, fmt::format("cannot send a bootstrap packet: {}", std::strerror(error)));
}

// Sizes must agree with the header, else the peer speaks another version or is no rank of ours.
void check_received(const msghdr& message, const PacketHeader& header, std::size_t got, std::vector<int>& descriptors) {
    const bool truncated = (message.msg_flags & MSG_TRUNC) != 0 || got != sizeof header + header.length;
    if (!truncated && descriptors.size() == header.descriptors) return;
    const std::size_t arrived = descriptors.size();
    close_all(descriptors);
    if (!truncated && (message.msg_flags & MSG_CTRUNC) != 0) throw out_of_descriptors("receiving from another rank");
    throw Error(ErrorCode::failure, fmt::format("malformed bootstrap packet: {} bytes and {} descriptors announced, {} and {} received", header.length,
                                                header.descriptors, got - std::min(got, sizeof header), arrived));
}

}  // namespace

SendState send_packet(int socket, PacketHeader header, std::span<const std::byte> bytes, std::span<const int> descriptors) {
    header.length = static_cast<std::uint32_t>(bytes.size());
    header.descriptors = static_cast<std::uint16_t>(descriptors.size());
    iovec parts[2] = {{&header, sizeof header}, {const_cast<std::byte*>(bytes.data()), bytes.size()}};
    alignas(cmsghdr) std::byte control[control_bytes] = {};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    if (!descriptors.empty()) {
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        attach(message, descriptors);
    }
    while (true) {
        if (::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return SendState::sent;
        if (errno != EINTR) return send_state(errno);
    }
}

namespace {

// The state of what is next, and how many bytes it has.
std::pair<ReceiveState, std::size_t> look(int socket) {
    std::uint32_t magic = 0;
    ssize_t size = 0;
    do {
        size = ::recv(socket, &magic, sizeof magic, MSG_PEEK | MSG_DONTWAIT | MSG_TRUNC);
    } while (size < 0 && errno == EINTR);
    if (size < 0) return {errno == EAGAIN || errno == EWOULDBLOCK ? ReceiveState::empty : ReceiveState::gone, 0};
    if (size == 0) return {ReceiveState::gone, 0};
    const bool ours = static_cast<std::size_t>(size) >= sizeof magic && magic == bootstrap_magic;
    return {ours ? ReceiveState::received : ReceiveState::foreign, static_cast<std::size_t>(size)};
}

}  // namespace

ReceiveState peek_packet(int socket) {
    return look(socket).first;
}

ReceiveState receive_packet(int socket, Packet& packet) {
    const auto [next, size] = look(socket);
    if (next != ReceiveState::received) return next;
    // As much as came and no more: teams of hundreds of ranks keep tens of thousands of packets.
    packet.content.bytes.resize(std::min(size - std::min(size, sizeof packet.header), bootstrap_bytes_limit));
    iovec parts[2] = {{&packet.header, sizeof packet.header}, {packet.content.bytes.data(), packet.content.bytes.size()}};
    alignas(cmsghdr) std::byte control[control_bytes];
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    ssize_t got = 0;
    do {
        got = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    if (got < 0 && (errno == EMFILE || errno == ENFILE)) throw out_of_descriptors("receiving from another rank");
    if (got <= 0) return ReceiveState::gone;
    packet.content.descriptors = detach(message);
    check_received(message, packet.header, static_cast<std::size_t>(got), packet.content.descriptors);
    packet.content.bytes.resize(packet.header.length);
    return ReceiveState::received;
}

void close_all(std::vector<int>& descriptors) noexcept {
    for (const int descriptor : descriptors)
        ::close(descriptor);
    descriptors.clear();
}

std::vector<int> duplicate_all(std::span<const int> descriptors) {
    std::vector<int> copies;
    for (const int descriptor : descriptors) {
        const int copy = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
        if (copy < 0) {
            const int error = errno;
            close_all(copies);
            if (error == EMFILE) throw out_of_descriptors("sharing descriptors between ranks");
            throw Error(ErrorCode::failure, fmt::format("cannot duplicate descriptor {}: {}", descriptor, std::strerror(error)));
        }
        copies.push_back(copy);
    }
    return copies;
}

void check_limits(std::span<const std::byte> bytes, std::span<const int> descriptors) {
    if (bytes.size() > bootstrap_bytes_limit)
        throw Error(ErrorCode::usage, fmt::format("a bootstrap contribution of {} bytes is over the limit of {}", bytes.size(), bootstrap_bytes_limit));
    if (descriptors.size() > bootstrap_descriptor_limit)
        throw Error(ErrorCode::usage,
                    fmt::format("a bootstrap contribution of {} descriptors is over the limit of {}", descriptors.size(), bootstrap_descriptor_limit));
}

}  // namespace attune::collectives
