// The transport over streams. One thread at a time; every system call is non-blocking but those of rest() and of the destructor.
#pragma once

#include "collectives/transport/tcp_opening.hpp"
#include "collectives/transport/tcp_options.hpp"
#include "collectives/transport/tcp_peer.hpp"

#include <memory>
#include <string>
#include <vector>

#include <poll.h>

namespace attune::collectives {

// What a TcpTransport runs on.
struct TcpTeam {
    TcpLayout layout;
    Rank rank = 0;
    bool oversubscribed = false;
    std::vector<core::UniqueFd> sockets;  // by peer; none for ourselves and for peers reached otherwise
    std::vector<std::int64_t> processes;  // pid per rank
    TcpHome home;
    TcpDefaults defaults;
    std::vector<std::string> congestion_controls;
};

class TcpTransport final : public Transport {
public:
    explicit TcpTransport(TcpTeam team);
    // Says goodbye and waits until the other hosts have what was sent, or need it no more: they said goodbye too, or are gone. A living rank that does not
    // read is waited for up to a minute; after an abort for a moment only.
    ~TcpTransport() override;

    Rank rank() const noexcept override { return rank_; }
    int size() const noexcept override { return layout_.ranks; }
    std::string_view name() const noexcept override { return "tcp"; }
    std::uint64_t fragment_bytes() const noexcept override { return layout_.fragment_bytes; }
    int channels() const noexcept override { return layout_.channels; }
    bool oversubscribed() const noexcept override { return oversubscribed_; }
    StreamFacts streams() const override { return {true, congestion_controls_}; }
    // The first call with several channels makes every channel get a stream of its own, as soon as both ends of a pair have come to it.
    void prepare(const LinkOptions& link) override;

    bool post_send(const Lane& lane, const Message& message) noexcept override;
    bool post_send_many(std::span<const Rank> peers, const Lane& lane, const Message& message) noexcept override;
    bool peek(const Lane& lane, std::uint64_t length, bool inline_message, Incoming& incoming) noexcept override;
    void release(const Lane& lane) noexcept override;
    void offer(const Lane& lane, const Offer& offer) noexcept override { peer(lane).offer(lane, offer); }
    // Whether post_send_many() would succeed.
    bool ready(std::span<const Rank> peers, const Lane& lane) noexcept;

    void publish(const CallRecord& record) noexcept override;
    CallRecord published(Rank rank) const noexcept override;
    CallRecord published_in(Rank rank, int slot) const noexcept override {
        return states_[static_cast<std::size_t>(rank)].records[static_cast<std::size_t>(slot)];
    }
    void publish_completed(std::uint64_t call) noexcept override { own().completed = call; }
    std::uint64_t completed(Rank rank) const noexcept override { return states_[static_cast<std::size_t>(rank)].completed; }
    void abort(std::string_view reason) noexcept override;
    std::string abort_reason() const override;
    std::vector<Rank> dead_ranks() noexcept override;
    bool has_left(Rank rank) const noexcept override;
    std::int64_t process_of(Rank rank) const noexcept override { return processes_[static_cast<std::size_t>(rank)]; }

    bool flush() noexcept override;
    void refresh() noexcept override;
    bool rest(std::int64_t ns) noexcept override;

private:
    using Peer = std::unique_ptr<TcpPeer>;

    PeerState& own() noexcept { return states_[static_cast<std::size_t>(rank_)]; }
    TcpPeer& peer(const Lane& lane) noexcept { return *peers_[static_cast<std::size_t>(lane.peer)]; }
    void remember(TcpPeer& peer) noexcept;
    void tell(TcpPeer& peer) noexcept;
    void begin_opening();
    void open_further();
    std::size_t connected_below() const noexcept;
    void await_confirmation(std::int64_t patience_ns) noexcept;

    boost::asio::io_context context_{1};
    TcpLayout layout_;
    Rank rank_;
    bool oversubscribed_;
    std::vector<std::int64_t> processes_;
    std::vector<PeerState> states_;  // by rank, ours too
    std::vector<Peer> peers_;        // by rank; none for ourselves and for those reached otherwise
    std::vector<TcpPeer*> blocked_;  // with bytes that wait for the socket
    std::vector<pollfd> watched_;    // for rest()
    std::uint64_t told_ = 0;         // our latest call that all peers know of
    std::string abort_reason_;
    TcpHome home_;
    TcpDefaults defaults_;
    std::vector<std::string> congestion_controls_;
    LinkOptions link_;                     // of the last call
    std::unique_ptr<TcpOpening> opening_;  // while further streams are being made
    bool opened_ = false;                  // that was begun once
};

}  // namespace attune::collectives
