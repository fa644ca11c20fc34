#include "collectives/bootstrap_tcp_wire.hpp"

#include "libcore/error.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include <poll.h>
#include <sys/socket.h>

namespace attune::collectives {

namespace {

using core::Error;
using core::ErrorCode;

[[noreturn]] void fail(Rank peer, std::string_view why) {
    throw Error(ErrorCode::failure, fmt::format("the ranks cannot meet: rank {} {}", peer, why));
}

void send_bytes(int socket, std::span<const std::byte> bytes, TcpDeadline deadline, Rank peer) {
    while (!bytes.empty()) {
        const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent > 0) bytes = bytes.subspan(static_cast<std::size_t>(sent));
        if (sent >= 0 || errno == EINTR) continue;
        if (errno != EAGAIN) fail(peer, fmt::format("is gone: {}", std::strerror(errno)));
        if (!await_descriptor(socket, POLLOUT, deadline)) fail(peer, "does not read in time");
    }
}

void receive_bytes(int socket, std::span<std::byte> bytes, TcpDeadline deadline, Rank peer) {
    while (!bytes.empty()) {
        const ssize_t got = ::recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
        if (got > 0) bytes = bytes.subspan(static_cast<std::size_t>(got));
        if (got == 0) fail(peer, "is gone");
        if (got > 0 || errno == EINTR) continue;
        if (errno != EAGAIN) fail(peer, fmt::format("is gone: {}", std::strerror(errno)));
        if (!await_descriptor(socket, POLLIN, deadline)) fail(peer, "sent nothing in time");
    }
}

template <class Value>
Value take(std::span<const std::byte>& bytes) {
    Value value{};
    if (bytes.size() < sizeof value) throw Error(ErrorCode::failure, "a contribution of a rank arrived truncated; run the same build on every rank");
    std::memcpy(&value, bytes.data(), sizeof value);
    bytes = bytes.subspan(sizeof value);
    return value;
}

}  // namespace

void send_meeting(int socket, const MeetingHeader& header, std::span<const std::byte> payload, TcpDeadline deadline, Rank peer) {
    MeetingHeader sized = header;
    sized.length = payload.size();
    send_bytes(socket, std::as_bytes(std::span(&sized, 1)), deadline, peer);
    send_bytes(socket, payload, deadline, peer);
}

MeetingPacket receive_meeting(int socket, std::uint64_t limit, TcpDeadline deadline, Rank peer) {
    MeetingPacket packet;
    receive_bytes(socket, std::as_writable_bytes(std::span(&packet.header, 1)), deadline, peer);
    if (packet.header.length > limit) fail(peer, fmt::format("announces {} bytes, more than the {} that can be right", packet.header.length, limit));
    packet.payload.resize(packet.header.length);
    receive_bytes(socket, packet.payload, deadline, peer);
    return packet;
}

std::vector<std::byte> serialize(const MeetingContribution& contribution) {
    std::vector<std::byte> out;
    const auto add = [&](const auto& value) {
        const auto bytes = std::as_bytes(std::span(&value, 1));
        out.insert(out.end(), bytes.begin(), bytes.end());
    };
    add(contribution.descriptors);
    add(static_cast<std::uint64_t>(contribution.bytes.size()));
    out.insert(out.end(), contribution.bytes.begin(), contribution.bytes.end());
    return out;
}

std::vector<MeetingContribution> parse_contributions(std::span<const std::byte> bytes, std::size_t count) {
    std::vector<MeetingContribution> all;
    while (!bytes.empty()) {
        MeetingContribution one;
        one.descriptors = take<OpenedElsewhere>(bytes);
        const auto size = take<std::uint64_t>(bytes);
        if (size > bytes.size() || one.descriptors.count > one.descriptors.numbers.size())
            throw Error(ErrorCode::failure, "a contribution of a rank is malformed; run the same build on every rank");
        one.bytes.assign(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
        bytes = bytes.subspan(size);
        all.push_back(std::move(one));
    }
    if (all.size() != count) throw Error(ErrorCode::failure, fmt::format("{} contributions arrived instead of {}", all.size(), count));
    return all;
}

}  // namespace attune::collectives
