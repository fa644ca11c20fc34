#include "tuner/engine/command.hpp"

#include "libcore/error.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include <sys/socket.h>
#include <sys/uio.h>

namespace attune::tuner::engine {

namespace {

core::Error socket_error(const char* what) {
    return core::Error(core::ErrorCode::failure, std::string(what) + " on the arena's control socket: " + std::strerror(errno));
}

// Room for one descriptor, aligned as the kernel wants it.
struct Ancillary {
    alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
};

void attach(msghdr& message, Ancillary& ancillary, int descriptor) {
    message.msg_control = ancillary.space;
    message.msg_controllen = sizeof(ancillary.space);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
}

int detach(msghdr& message) {
    const cmsghdr* header = CMSG_FIRSTHDR(&message);
    if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) return -1;
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(header), sizeof(int));
    return descriptor;
}

}  // namespace

void set_text(std::span<char> into, std::string_view text) noexcept {
    const std::size_t length = std::min(text.size(), into.size() - 1);
    std::copy_n(text.data(), length, into.data());
    into[length] = '\0';
}

void send_packet(int descriptor, std::span<const std::byte> bytes, int attached) {
    iovec piece{const_cast<std::byte*>(bytes.data()), bytes.size()};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    Ancillary ancillary;
    if (attached >= 0) attach(message, ancillary, attached);
    ssize_t sent = 0;
    do {
        sent = ::sendmsg(descriptor, &message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    if (sent != static_cast<ssize_t>(bytes.size())) throw socket_error("cannot send");
}

bool receive_packet(int descriptor, std::span<std::byte> into, int* attached) {
    iovec piece{into.data(), into.size()};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    Ancillary ancillary;
    message.msg_control = ancillary.space;
    message.msg_controllen = sizeof(ancillary.space);
    ssize_t got = 0;
    do {
        got = ::recvmsg(descriptor, &message, MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    if (got == 0 || (got < 0 && errno == ECONNRESET)) return false;
    if (got < 0) throw socket_error("cannot receive");
    if (got != static_cast<ssize_t>(into.size()) || (message.msg_flags & MSG_TRUNC) != 0) {
        throw core::Error(core::ErrorCode::failure,
                          "the arena's control socket got " + std::to_string(got) + " bytes instead of " + std::to_string(into.size()));
    }
    const int received = detach(message);
    if (attached != nullptr) *attached = received;
    return true;
}

}  // namespace attune::tuner::engine
