#include "collectives/bootstrap_tcp.hpp"

#include "collectives/bootstrap_tcp_wire.hpp"
#include "collectives/bootstrap_wire.hpp"
#include "collectives/host.hpp"
#include "collectives/transport/tcp_listener.hpp"
#include "libcore/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace attune::collectives {

namespace {

using core::Error;
using core::ErrorCode;
using Clock = std::chrono::steady_clock;

// Another key than that of the meeting, so that a proof of one is none of the other.
core::Digest derived(const core::Digest& secret, std::string_view purpose) {
    return core::hmac_sha256(secret, std::as_bytes(std::span(purpose)));
}

class TcpBootstrap final : public Bootstrap {
public:
    TcpBootstrap(const TcpMeetingPoint& where, std::string address, std::vector<core::UniqueFd> sockets)
        : where_(where), address_(std::move(address)), sockets_(std::move(sockets)) {}

    Rank rank() const noexcept override { return where_.rank; }
    int size() const noexcept override { return where_.size; }
    std::string address() const override { return address_; }
    std::optional<core::Digest> secret() const override {
        if (!where_.secret) return std::nullopt;
        return derived(*where_.secret, "attune data");
    }

    std::vector<Contribution> all_gather(std::span<const std::byte> bytes, std::span<const int> descriptors) override {
        check_limits(bytes, descriptors);
        deadline_ = Clock::now() + where_.patience;
        const Host host = this_host();
        MeetingContribution own{{host.processes, ::getpid(), static_cast<std::uint32_t>(descriptors.size()), {}}, {bytes.begin(), bytes.end()}};
        std::ranges::copy(descriptors, own.descriptors.numbers.begin());
        const std::vector<MeetingContribution> all = exchange(own);
        const bool any = std::ranges::any_of(all, [](const MeetingContribution& one) { return one.descriptors.count != 0; });
        std::vector<Contribution> result = open_all(all, host);
        // Descriptors stay open at their owner until everyone has opened them.
        if (any) confirm(result);
        ++sequence_;
        return result;
    }

private:
    MeetingHeader header(MeetingKind kind) const { return {kind, sequence_, 0}; }
    int socket_of(Rank rank) const { return sockets_[static_cast<std::size_t>(rank)].get(); }

    MeetingPacket receive(Rank peer, MeetingKind kind, std::uint64_t limit) {
        MeetingPacket packet = receive_meeting(socket_of(peer), std::max<std::uint64_t>(limit, contribution_limit), deadline_, peer);
        if (packet.header.kind == MeetingKind::failed)
            throw Error(ErrorCode::failure, std::string(reinterpret_cast<const char*>(packet.payload.data()), packet.payload.size()));
        if (packet.header.kind != kind || packet.header.sequence != sequence_)
            throw Error(ErrorCode::failure, fmt::format("rank {} is in exchange {} of the bootstrap, rank {} in {}; all ranks must do the same", peer,
                                                        packet.header.sequence, where_.rank, sequence_));
        return packet;
    }

    // To rank 0, which says why before it leaves: its reason is worth more than that nothing can be sent any more.
    void tell_leader(MeetingKind kind, std::span<const std::byte> payload) {
        try {
            send_meeting(socket_of(0), header(kind), payload, deadline_, 0);
        } catch (const Error&) {
            receive(0, MeetingKind::failed, contribution_limit);
            throw;
        }
    }

    // Rank 0: runs `act` and tells everyone when it fails.
    template <class Act>
    void lead(Act act) {
        try {
            act();
        } catch (const Error& error) {
            const std::string reason = error.what();
            for (Rank peer = 1; peer < where_.size; ++peer) {
                try {
                    send_meeting(socket_of(peer), header(MeetingKind::failed), std::as_bytes(std::span(reason)), deadline_, peer);
                } catch (const Error&) {
                    // It is gone itself.
                }
            }
            throw;
        }
    }

    std::vector<MeetingContribution> exchange(const MeetingContribution& own) {
        const auto size = static_cast<std::size_t>(where_.size);
        std::vector<std::byte> all = serialize(own);
        if (where_.rank != 0) {
            tell_leader(MeetingKind::contribute, all);
            return parse_contributions(receive(0, MeetingKind::everything, contribution_limit * size).payload, size);
        }
        lead([&] {
            for (Rank peer = 1; peer < where_.size; ++peer) {
                const MeetingPacket packet = receive(peer, MeetingKind::contribute, contribution_limit);
                all.insert(all.end(), packet.payload.begin(), packet.payload.end());
            }
            for (Rank peer = 1; peer < where_.size; ++peer)
                send_meeting(socket_of(peer), header(MeetingKind::everything), all, deadline_, peer);
        });
        return parse_contributions(all, size);
    }

    void confirm(std::vector<Contribution>& opened) {
        try {
            if (where_.rank != 0) {
                tell_leader(MeetingKind::opened, {});
                receive(0, MeetingKind::go_on, 0);
                return;
            }
            lead([&] {
                for (Rank peer = 1; peer < where_.size; ++peer)
                    receive(peer, MeetingKind::opened, 0);
                for (Rank peer = 1; peer < where_.size; ++peer)
                    send_meeting(socket_of(peer), header(MeetingKind::go_on), {}, deadline_, peer);
            });
        } catch (...) {
            close_opened(opened);
            throw;
        }
    }

    std::vector<Contribution> open_all(const std::vector<MeetingContribution>& all, const Host& host) const {
        std::vector<Contribution> result;
        try {
            for (const MeetingContribution& one : all) {
                result.push_back({one.bytes, {}});
                for (std::uint32_t i = 0; i < one.descriptors.count; ++i)
                    result.back().descriptors.push_back(open_one(one.descriptors, i, host));
            }
        } catch (...) {
            close_opened(result);
            throw;
        }
        return result;
    }

    static int open_one(const OpenedElsewhere& where, std::uint32_t index, const Host& host) {
        if (where.processes != host.processes) return -1;
        const std::string path = fmt::format("/proc/{}/fd/{}", where.process, where.numbers[index]);
        const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
        if (descriptor >= 0) return descriptor;
        throw Error(ErrorCode::failure, fmt::format("cannot share memory with process {} ({}: {}); start all ranks as the same user, or use --transport tcp",
                                                    where.process, path, std::strerror(errno)));
    }

    static void close_opened(std::vector<Contribution>& opened) {
        for (Contribution& one : opened)
            close_all(one.descriptors);
    }

    TcpMeetingPoint where_;
    std::string address_;
    std::vector<core::UniqueFd> sockets_;  // rank 0: to every other rank; else only to rank 0
    std::uint32_t sequence_ = 0;
    TcpDeadline deadline_{};
};

TcpJob job_of(const TcpMeetingPoint& where) {
    const std::string name = fmt::format("attune meeting of {} ranks at port {}", where.size, where.port);
    return {derived(where.secret.value_or(core::Digest{}), "attune meeting"), core::digest64(std::as_bytes(std::span(name)))};
}

void check(const TcpMeetingPoint& where, const std::string& address) {
    if (where.size < 1 || where.rank < 0 || where.rank >= where.size)
        throw Error(ErrorCode::usage, fmt::format("rank {} of {} ranks makes no sense; check RANK and WORLD_SIZE", where.rank, where.size));
    if (!where.secret && !is_loopback(address))
        throw Error(ErrorCode::usage, fmt::format("ranks that meet at {} need a common secret: write 32 random bytes or more to a file of mode 0600 on every "
                                                  "host and name it in ATTUNE_SECRET_FILE",
                                                  address));
}

void no_delay(const core::UniqueFd& socket) {
    const int yes = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

std::vector<core::UniqueFd> meet(const TcpMeetingPoint& where, const TcpEndpoint& endpoint) {
    const TcpJob job = job_of(where);
    const TcpDeadline deadline = Clock::now() + where.patience;
    std::vector<core::UniqueFd> sockets;
    if (where.rank != 0) {
        sockets.push_back(dial(endpoint, job, {where.rank, 0, TcpRole::bootstrap, 0}, deadline));
    } else if (where.size > 1) {
        std::vector<TcpSeat> seats;
        for (Rank rank = 1; rank < where.size; ++rank)
            seats.push_back({rank, 0, TcpRole::bootstrap, 0});
        TcpListener listener(endpoint, where.warn);
        sockets = listener.accept(job, seats, deadline);
        sockets.insert(sockets.begin(), core::UniqueFd());
    }
    std::ranges::for_each(sockets, no_delay);
    return sockets;
}

}  // namespace

std::unique_ptr<Bootstrap> make_tcp_bootstrap(const TcpMeetingPoint& where) {
    const std::string address = resolve(where.address);
    check(where, address);
    std::vector<core::UniqueFd> sockets = meet(where, {address, where.port});
    const std::string own = where.rank == 0 ? address : local_endpoint(sockets.front().get()).address;
    return std::make_unique<TcpBootstrap>(where, own, std::move(sockets));
}

core::Digest read_secret_file(const std::string& path) {
    constexpr std::uint64_t shortest = 32, longest = 4096;
    const core::UniqueFd file = core::open_file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    struct stat facts {};
    const auto refuse = [&](const std::string& why) {
        throw Error(ErrorCode::usage, fmt::format("the secret in '{}' (ATTUNE_SECRET_FILE) is not used: {}", path, why));
    };
    if (::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) refuse("it is no regular file");
    if (facts.st_uid != ::geteuid()) refuse(fmt::format("it belongs to user {}, not to us ({})", facts.st_uid, ::geteuid()));
    if ((facts.st_mode & 077) != 0) refuse(fmt::format("others may read or write it (mode {:04o}); run chmod 600", facts.st_mode & 07777));
    std::vector<std::byte> bytes(longest + 1);
    const ssize_t got = ::read(file.get(), bytes.data(), bytes.size());
    if (got < static_cast<ssize_t>(shortest) || got > static_cast<ssize_t>(longest))
        refuse(fmt::format("it has {} bytes; {} to {} are needed", facts.st_size, shortest, longest));
    return core::sha256(std::span<const std::byte>(bytes.data(), static_cast<std::size_t>(got)));
}

}  // namespace attune::collectives
