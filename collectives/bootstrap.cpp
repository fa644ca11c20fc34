#include "collectives/bootstrap.hpp"

#include "collectives/bootstrap_wire.hpp"
#include "libcore/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include <poll.h>

namespace attune::collectives {

namespace {

using core::Error;
using core::ErrorCode;
using Deadline = std::chrono::steady_clock::time_point;

// The hub answers when all ranks have contributed; it knows when one of them ended.
class LauncherBootstrap final : public Bootstrap {
public:
    LauncherBootstrap(Rank rank, int size, int socket, std::chrono::milliseconds patience) : rank_(rank), size_(size), socket_(socket), patience_(patience) {}

    Rank rank() const noexcept override { return rank_; }
    int size() const noexcept override { return size_; }

    std::vector<Contribution> all_gather(std::span<const std::byte> bytes, std::span<const int> descriptors) override {
        check_limits(bytes, descriptors);
        const Deadline deadline = std::chrono::steady_clock::now() + patience_;
        contribute(bytes, descriptors, deadline);
        std::vector<Contribution> all;
        try {
            while (all.size() < static_cast<std::size_t>(size_))
                all.push_back(next(static_cast<Rank>(all.size()), deadline));
        } catch (...) {
            for (Contribution& contribution : all)
                close_all(contribution.descriptors);
            throw;
        }
        ++sequence_;
        return all;
    }

private:
    Error failure(std::string_view what) const {
        return Error(ErrorCode::failure, fmt::format("rank {} of {} cannot meet the others: {}", rank_, size_, what));
    }

    void contribute(std::span<const std::byte> bytes, std::span<const int> descriptors, Deadline deadline) {
        PacketHeader header;
        header.sequence = sequence_;
        header.rank = rank_;
        header.size = size_;
        while (true) {
            const SendState state = send_packet(socket_, header, bytes, descriptors);
            if (state == SendState::sent) return;
            if (state == SendState::gone) throw failure("the launcher is gone");
            await(POLLOUT, deadline);
        }
    }

    Contribution next(Rank from, Deadline deadline) {
        Packet packet;
        ReceiveState state = ReceiveState::empty;
        while ((state = receive_packet(socket_, packet)) == ReceiveState::empty)
            await(POLLIN, deadline);
        if (state == ReceiveState::gone) throw failure("the launcher is gone");
        if (state == ReceiveState::foreign) throw failure("unexpected data on the launch descriptor (is something else using it?)");
        if (packet.header.kind == PacketKind::failed)
            throw failure(std::string_view(reinterpret_cast<const char*>(packet.content.bytes.data()), packet.content.bytes.size()));
        const bool expected = packet.header.kind == PacketKind::contribution && packet.header.sequence == sequence_ && packet.header.rank == from;
        if (expected) return std::move(packet.content);
        close_all(packet.content.descriptors);
        throw failure(fmt::format("contribution {} of rank {} arrived instead of {} of rank {}", packet.header.sequence, packet.header.rank, sequence_, from));
    }

    // Returns when the socket is ready or a millisecond passed with descriptors in flight; throws at the deadline.
    void await(short events, Deadline deadline) const {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
        if (left <= 0) throw failure(fmt::format("not all ranks arrived within {} s", std::chrono::duration<double>(patience_).count()));
        pollfd entry{socket_, events, 0};
        if (::poll(&entry, 1, static_cast<int>(std::min<long long>(left, 1000))) < 0 && errno != EINTR)
            throw failure(fmt::format("cannot wait for the launcher: {}", std::strerror(errno)));
    }

    Rank rank_;
    int size_;
    int socket_;
    std::chrono::milliseconds patience_;
    std::uint32_t sequence_ = 0;
};

}  // namespace

std::unique_ptr<Bootstrap> make_launcher_bootstrap(Rank rank, int size, int descriptor, std::chrono::milliseconds patience) {
    if (size < 1 || rank < 0 || rank >= size)
        throw Error(ErrorCode::usage, fmt::format("rank {} of {} ranks makes no sense; were ATTUNE_RANK and ATTUNE_RANKS set by hand?", rank, size));
    if (peek_packet(descriptor) == ReceiveState::gone)
        throw Error(ErrorCode::failure, fmt::format("descriptor {} is not connected to a launcher; start the program with attune-run", descriptor));
    return std::make_unique<LauncherBootstrap>(rank, size, descriptor, patience);
}

}  // namespace attune::collectives
