// Waits for the connections of known ranks on one interface; anything else is dropped with one line and disturbs nobody.
#pragma once

#include "collectives/transport/tcp_handshake.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace attune::collectives {

class TcpListener {
public:
    using Warn = std::function<void(const std::string&)>;

    // Throws Error(failure) when the address cannot be listened on. `warn` may be empty.
    TcpListener(const TcpEndpoint& endpoint, Warn warn);

    TcpEndpoint endpoint() const { return local_endpoint(socket_.get()); }
    // The sockets of all seats, in their order. Throws Error(failure) naming who is missing at the deadline.
    std::vector<core::UniqueFd> accept(const TcpJob& job, const std::vector<TcpSeat>& seats, TcpDeadline deadline);

private:
    struct Round;
    void take_new(Round& round);
    void advance(Round& round, TcpReception& reception);
    void drop_late(Round& round);
    void drop(int descriptor, const std::string& reason);

    core::UniqueFd socket_;
    Warn warn_;
    int dropped_ = 0;
};

// The connecting end: connects and introduces itself. Throws Error(failure).
core::UniqueFd dial(const TcpEndpoint& endpoint, const TcpJob& job, const TcpSeat& seat, TcpDeadline deadline);

}  // namespace attune::collectives
