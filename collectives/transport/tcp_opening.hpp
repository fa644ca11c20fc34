// Further streams between ranks that have one already, a stream for each channel but the first. Opened in the background of calls, which wait for none of
// them: what cannot be opened in time stays away, and the first stream goes on carrying its channel.
#pragma once

#include "collectives/transport/tcp_handshake.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace attune::collectives {

// What a rank of a team needs to be found and proven again.
struct TcpHome {
    std::string address;  // where it listens
    TcpJob job;
};

class TcpOpening {
public:
    struct Opened {
        Rank peer = 0;
        std::size_t channel = 0;
        core::UniqueFd socket;
    };

    // `guests`: the peers that will connect, those of higher rank. Throws Error(failure) when it cannot listen.
    TcpOpening(const TcpHome& home, Rank rank, int channels, const std::vector<Rank>& guests);

    TcpEndpoint endpoint() const { return local_endpoint(listener_.get()); }
    // Connects to a peer of lower rank; its answer is not waited for. A peer that cannot be reached is passed over.
    void visit(Rank peer, const TcpEndpoint& endpoint);
    // A stream whose ends have proven each other; call until there is none. Never blocks.
    std::optional<Opened> next();
    // Everything is open that was wanted, or it is too late.
    bool over(std::size_t hosts) const;

private:
    struct Visit {
        core::UniqueFd socket;
        TcpApproach approach;
    };
    std::optional<Opened> next_visit();
    std::optional<Opened> next_guest();
    std::optional<Opened> seated(TcpReception& guest);

    TcpHome home_;
    Rank rank_;
    int channels_;
    core::UniqueFd listener_;
    TcpDeadline deadline_;
    std::vector<Visit> visits_;
    std::size_t visited_ = 0;  // peers
    std::vector<TcpReception> guests_;
    std::vector<TcpSeat> expected_;
};

}  // namespace attune::collectives
