// How two ends of a new connection prove to each other that they belong to the same job, before anything else is read.
#pragma once

#include "collectives/transport/tcp_address.hpp"
#include "collectives/schedule.hpp"
#include "libcore/crypto.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace attune::collectives {

enum class TcpRole : std::uint32_t { bootstrap, data };

// What a connection is for; the proofs of both ends cover it.
struct TcpSeat {
    Rank from = 0, to = 0;  // who connects, who listens
    TcpRole role = TcpRole::data;
    std::int32_t channel = 0;
    friend bool operator==(const TcpSeat&, const TcpSeat&) = default;
};

// What all ranks of a job share. Proof = HMAC-SHA-256 over both nonces, the job, the seat and the version with this key.
struct TcpJob {
    core::Digest secret{};
    std::uint64_t job = 0;
};

inline constexpr std::chrono::milliseconds handshake_patience{5'000};

// hello (connecting end) -> answer with its proof (listening end) -> proof (connecting end); fixed sizes, so nothing unbounded is read.
struct TcpHello {
    std::array<char, 8> magic{};
    std::uint32_t version = 0;
    TcpSeat seat;
    std::array<std::byte, 32> nonce{};
};
struct TcpAnswer {
    std::array<char, 8> magic{};
    std::array<std::byte, 32> nonce{};
    core::Digest proof{};
};
static_assert(sizeof(TcpHello) == 60 && sizeof(TcpAnswer) == 72);

// The connecting end, blocking until the deadline. Throws Error(failure): the other end is silent, closed or does not know the secret.
void introduce(int socket, const TcpJob& job, const TcpSeat& seat, TcpDeadline deadline);

enum class TcpState : std::uint8_t { waiting, accepted, refused };

// The connecting end of one connection, which may still be in the making; never blocks and leaves the socket to its owner.
class TcpApproach {
public:
    TcpApproach(int socket, const TcpJob& job, const TcpSeat& seat);

    TcpState advance();
    const TcpSeat& seat() const noexcept { return hello_.seat; }
    const std::string& reason() const noexcept { return reason_; }

private:
    TcpState refuse(std::string reason);
    bool send(std::span<const std::byte> bytes);
    TcpState prove();

    int socket_;
    TcpJob job_;
    TcpHello hello_;
    TcpAnswer answer_;
    bool greeted_ = false;
    std::size_t received_ = 0;  // of the answer
    std::string reason_;
};

// The listening end of one connection; never blocks.
class TcpReception {
public:
    TcpReception(core::UniqueFd socket, const TcpJob& job);

    // Call when the socket is readable.
    TcpState advance();
    const TcpSeat& seat() const noexcept { return hello_.seat; }  // proven once accepted
    const std::string& reason() const noexcept { return reason_; }
    TcpDeadline deadline() const noexcept { return deadline_; }
    int descriptor() const noexcept { return socket_.get(); }
    core::UniqueFd take() noexcept { return std::move(socket_); }

private:
    bool fill(std::byte* target, std::size_t size);  // true when all of it is there
    TcpState refuse(std::string reason);
    TcpState answer();

    core::UniqueFd socket_;
    TcpJob job_;
    TcpDeadline deadline_;
    TcpHello hello_;
    TcpAnswer answer_;
    core::Digest proof_{};
    std::size_t received_ = 0;  // of the present message
    bool answered_ = false;
    std::string reason_;
};

}  // namespace attune::collectives
