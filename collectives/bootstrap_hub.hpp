// The launcher's side of the bootstrap: collects one contribution of every rank, then gives all of them to every rank. Never blocks.
#pragma once

#include "collectives/bootstrap_wire.hpp"

#include <string>
#include <vector>

namespace attune::collectives {

// Driven by a poll loop. `sockets[r]` leads to rank r and stays the caller's. Not thread-safe.
class Hub {
public:
    explicit Hub(std::vector<int> sockets);
    ~Hub();
    Hub(const Hub&) = delete;
    Hub& operator=(const Hub&) = delete;

    short interest(Rank rank) const;  // poll events; 0 = nothing to wait for
    void ready(Rank rank, short events);
    // Its socket is closed: it has ended, or soon will, or gave the socket away. Call ended() with the reason.
    bool closed(Rank rank) const noexcept { return seats_[static_cast<std::size_t>(rank)].closed; }
    // A rank that ended fails every all_gather it has not contributed to.
    void ended(Rank rank, const std::string& how);
    // Too many descriptors are in flight: call retry() after a millisecond instead of waiting for POLLOUT.
    bool crowded() const noexcept { return crowded_; }
    void retry();
    // Some rank sent something that is not for the hub. It stays in the socket, and the socket is not watched, until look_again().
    bool foreign() const noexcept;
    void look_again();

private:
    struct Seat {
        int socket = -1;
        bool contributed = false;
        bool waiting = false;  // contributed and not answered yet
        bool open = true;      // until ended()
        bool closed = false;
        bool foreign = false;
        std::size_t delivered = 0;
    };

    void read(Rank rank);
    void accept(Rank rank, Packet packet);
    void write(Rank rank);
    bool send_next(Rank rank);
    void fail(std::string reason);
    void close(Rank rank);
    void finish_round_when_delivered();

    std::vector<Seat> seats_;
    std::vector<Contribution> contributions_;
    std::size_t arrived_ = 0;
    std::uint32_t sequence_ = 0;
    std::string failure_;  // set once; answered to everyone who waits or comes
    std::string first_leaver_;
    bool crowded_ = false;
};

}  // namespace attune::collectives
