#include "collectives/transport/tcp_lanes.hpp"

#include "libcore/error.hpp"

#include <algorithm>

namespace attune::collectives {

TcpLanes::TcpLanes(const TcpLayout& layout)
    : window_(layout.window),
      fragment_bytes_(layout.fragment_bytes),
      memory_(in_flight_slots * static_cast<std::uint64_t>(layout.channels) * layout.window * layout.fragment_bytes),
      sends_(in_flight_slots * static_cast<std::size_t>(layout.channels)),
      receives_(sends_.size()) {
    if (memory_.data() == nullptr) throw core::Error(core::ErrorCode::failure, "no memory for the windows of a peer; allow less staging memory");
    for (ReceiveLane& lane : receives_)
        lane.arrivals.resize(window_);
}

bool TcpLanes::credit(std::size_t lane, std::uint64_t consumed) noexcept {
    SendLane& sends = sends_[lane];
    if (consumed > sends.sent) return false;
    sends.consumed = std::max(sends.consumed, consumed);
    return true;
}

std::byte* TcpLanes::fragment(std::size_t lane) noexcept {
    return memory_.data() + (lane * window_ + receives_[lane].arrived % window_) * fragment_bytes_;
}

std::byte* TcpLanes::begin(std::size_t lane, std::uint64_t length, std::uint64_t digest) noexcept {
    ReceiveLane& receives = receives_[lane];
    if (length > fragment_bytes_ || receives.arrived - receives.consumed >= window_) return nullptr;
    Offer& offer = receives.offer;
    Arrival& arrival = receives.arrivals[receives.arrived % window_];
    arrival = {fragment(lane), digest};
    receives.begun = receives.arrived + 1;
    if (offer.destination.empty()) return arrival.payload;
    if (digest == offer.digest && length == std::min<std::uint64_t>(offer.piece_bytes, offer.destination.size())) {
        arrival.payload = offer.destination.data();
        offer.destination = offer.destination.subspan(length);
    } else {
        offer = {};
    }
    return arrival.payload;
}

void TcpLanes::end(std::size_t lane) noexcept {
    receives_[lane].arrived = receives_[lane].begun;
}

bool TcpLanes::front(std::size_t lane, Incoming& incoming) const noexcept {
    const ReceiveLane& receives = receives_[lane];
    if (receives.arrived == receives.consumed) return false;
    const Arrival& arrival = receives.arrivals[receives.consumed % window_];
    incoming.payload = arrival.payload;
    incoming.digest = arrival.digest;
    return true;
}

bool TcpLanes::release(std::size_t lane) noexcept {
    ReceiveLane& receives = receives_[lane];
    ++receives.consumed;
    return receives.consumed - receives.confirmed >= (window_ + 1) / 2;
}

void TcpLanes::offer(std::size_t lane, const Offer& offer) noexcept {
    ReceiveLane& receives = receives_[lane];
    const std::uint64_t here = (receives.begun - receives.consumed) * offer.piece_bytes;
    receives.offer = {};
    if (here >= offer.destination.size()) return;
    receives.offer = offer;
    receives.offer.destination = offer.destination.subspan(here);
}

void TcpLanes::withdraw() noexcept {
    for (ReceiveLane& lane : receives_)
        lane.offer = {};
}

}  // namespace attune::collectives
