#include "collectives/transport/tcp_handshake.hpp"

#include "libcore/error.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include <poll.h>
#include <sys/socket.h>

namespace attune::collectives {

namespace {

using core::Error;
using core::ErrorCode;

constexpr std::array<char, 8> magic = {'A', 'T', 'T', 'U', 'N', 'E', 'T', 'C'};
constexpr std::uint32_t protocol_version = 2;

enum class End : std::uint8_t { connecting, listening };

// The label keeps one end's proof from being sent back as the other's.
core::Digest proof_of(End end, const TcpJob& job, const TcpHello& hello, const TcpAnswer& answer) {
    std::vector<std::byte> text;
    const auto add = [&](const auto& value) {
        const auto bytes = std::as_bytes(std::span(&value, 1));
        text.insert(text.end(), bytes.begin(), bytes.end());
    };
    add(end);
    add(job.job);
    add(hello);
    add(answer.nonce);
    return core::hmac_sha256(job.secret, text);
}

[[noreturn]] void fail(const TcpSeat& seat, std::string_view why) {
    throw Error(ErrorCode::failure, fmt::format("rank {} cannot connect to rank {}: {}", seat.from, seat.to, why));
}

}  // namespace

void introduce(int socket, const TcpJob& job, const TcpSeat& seat, TcpDeadline deadline) {
    TcpApproach approach(socket, job, seat);
    while (true) {
        const TcpState state = approach.advance();
        if (state == TcpState::accepted) return;
        if (state == TcpState::refused) fail(seat, approach.reason());
        if (!await_descriptor(socket, POLLIN, deadline)) fail(seat, "it did not answer in time");
    }
}

TcpApproach::TcpApproach(int socket, const TcpJob& job, const TcpSeat& seat) : socket_(socket), job_(job), hello_{magic, protocol_version, seat, {}} {
    core::random_bytes(hello_.nonce);
}

TcpState TcpApproach::refuse(std::string reason) {
    reason_ = std::move(reason);
    return TcpState::refused;
}

// Fresh sockets have room for a handshake.
bool TcpApproach::send(std::span<const std::byte> bytes) {
    return ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(bytes.size());
}

TcpState TcpApproach::advance() {
    if (!greeted_) {
        pollfd entry{socket_, POLLOUT, 0};
        if (::poll(&entry, 1, 0) <= 0) return TcpState::waiting;  // still connecting
        if (!send(std::as_bytes(std::span(&hello_, 1)))) return refuse("the connection closed in the handshake");
        greeted_ = true;
    }
    const auto bytes = std::as_writable_bytes(std::span(&answer_, 1)).subspan(received_);
    const ssize_t got = ::recv(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got == 0) return refuse("it refused the connection; do all ranks have the same secret (ATTUNE_SECRET_FILE), size and version?");
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return TcpState::waiting;
    if (got < 0) return refuse(std::strerror(errno));
    received_ += static_cast<std::size_t>(got);
    return received_ < sizeof answer_ ? TcpState::waiting : prove();
}

TcpState TcpApproach::prove() {
    if (answer_.magic != magic) return refuse("what listens there is no rank of attune");
    if (!core::equal_constant_time(answer_.proof, proof_of(End::listening, job_, hello_, answer_)))
        return refuse("it is of another job; do all ranks have the same secret (ATTUNE_SECRET_FILE) and number of ranks?");
    const core::Digest proof = proof_of(End::connecting, job_, hello_, answer_);
    return send(proof) ? TcpState::accepted : refuse("the connection closed in the handshake");
}

TcpReception::TcpReception(core::UniqueFd socket, const TcpJob& job)
    : socket_(std::move(socket)), job_(job), deadline_(std::chrono::steady_clock::now() + handshake_patience) {}

bool TcpReception::fill(std::byte* target, std::size_t size) {
    const ssize_t got = ::recv(socket_.get(), target + received_, size - received_, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (got <= 0) {
        reason_ = "it closed the connection";
        return false;
    }
    received_ += static_cast<std::size_t>(got);
    if (received_ < size) return false;
    received_ = 0;
    return true;
}

TcpState TcpReception::refuse(std::string reason) {
    reason_ = std::move(reason);
    return TcpState::refused;
}

TcpState TcpReception::advance() {
    if (!answered_) {
        if (fill(reinterpret_cast<std::byte*>(&hello_), sizeof hello_)) return answer();
        return reason_.empty() ? TcpState::waiting : TcpState::refused;
    }
    if (!fill(proof_.data(), proof_.size())) return reason_.empty() ? TcpState::waiting : TcpState::refused;
    if (core::equal_constant_time(proof_, proof_of(End::connecting, job_, hello_, answer_))) return TcpState::accepted;
    return refuse("it does not know this job's secret");
}

TcpState TcpReception::answer() {
    if (hello_.magic != magic) return refuse("it does not speak attune's protocol");
    if (hello_.version != protocol_version) return refuse(fmt::format("it speaks version {} of the protocol, not {}", hello_.version, protocol_version));
    answer_.magic = magic;
    core::random_bytes(answer_.nonce);
    answer_.proof = proof_of(End::listening, job_, hello_, answer_);
    const auto bytes = std::as_bytes(std::span(&answer_, 1));
    if (::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) != static_cast<ssize_t>(bytes.size()))
        return refuse("it closed the connection");
    answered_ = true;
    return TcpState::waiting;
}

}  // namespace attune::collectives
