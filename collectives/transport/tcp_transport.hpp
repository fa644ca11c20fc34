// The transport over streams. One thread at a time; every system call is non-blocking but those of rest() and of the destructor.
#pragma once

#include "collectives/transport/tcp_connection.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <poll.h>

namespace attune::collectives {

// What a TcpTransport runs on.
struct TcpTeam {
    TcpLayout layout;
    Rank rank = 0;
    bool oversubscribed = false;
    std::vector<core::UniqueFd> sockets;  // peer major, then channel; none for ourselves and for peers reached otherwise
    std::vector<std::int64_t> processes;  // pid per rank
};

class TcpTransport final : public Transport {
public:
    explicit TcpTransport(TcpTeam team);
    // Tells which calls are over and waits until the other hosts have what was sent: a minute, or a moment after an abort.
    ~TcpTransport() override;

    Rank rank() const noexcept override { return rank_; }
    int size() const noexcept override { return layout_.ranks; }
    std::string_view name() const noexcept override { return "tcp"; }
    std::uint64_t fragment_bytes() const noexcept override { return layout_.fragment_bytes; }
    int channels() const noexcept override { return layout_.channels; }
    bool oversubscribed() const noexcept override { return oversubscribed_; }

    bool post_send(const Lane& lane, const Message& message) noexcept override;
    bool post_send_many(std::span<const Rank> peers, const Lane& lane, const Message& message) noexcept override;
    bool peek(const Lane& lane, std::uint64_t length, bool inline_message, Incoming& incoming) noexcept override;
    void release(const Lane& lane) noexcept override;
    // Whether post_send_many() would succeed.
    bool ready(std::span<const Rank> peers, const Lane& lane) noexcept;

    void publish(const CallRecord& record) noexcept override;
    CallRecord published(Rank rank) const noexcept override;
    CallRecord published_in(Rank rank, int slot) const noexcept override {
        return peers_[static_cast<std::size_t>(rank)].records[static_cast<std::size_t>(slot)];
    }
    void publish_completed(std::uint64_t call) noexcept override { own().completed = call; }
    std::uint64_t completed(Rank rank) const noexcept override { return peers_[static_cast<std::size_t>(rank)].completed; }
    void abort(std::string_view reason) noexcept override;
    std::string abort_reason() const override;
    std::vector<Rank> dead_ranks() noexcept override;
    std::int64_t process_of(Rank rank) const noexcept override { return processes_[static_cast<std::size_t>(rank)]; }

    bool flush() noexcept override;
    void refresh() noexcept override;
    bool rest(std::int64_t ns) noexcept override;

private:
    using Connection = std::optional<TcpConnection>;

    PeerState& own() noexcept { return peers_[static_cast<std::size_t>(rank_)]; }
    std::size_t index(Rank peer, std::size_t channel) const noexcept {
        return static_cast<std::size_t>(peer) * static_cast<std::size_t>(layout_.channels) + channel;
    }
    TcpConnection& connection(const Lane& lane) noexcept { return *connections_[index(lane.peer, lane.channel)]; }
    void remember(TcpConnection& connection) noexcept;
    void tell(TcpConnection& connection) noexcept;
    bool await_confirmation(std::int64_t patience_ns) noexcept;

    boost::asio::io_context context_{1};
    TcpLayout layout_;
    Rank rank_;
    bool oversubscribed_;
    std::vector<std::int64_t> processes_;
    std::vector<PeerState> peers_;         // ours too
    std::vector<Connection> connections_;  // peer major
    std::vector<TcpConnection*> blocked_;  // with bytes that wait for the socket
    std::vector<pollfd> watched_;          // for rest()
    std::uint64_t told_ = 0;               // our latest call that all peers know of
    std::string abort_reason_;
};

}  // namespace attune::collectives
