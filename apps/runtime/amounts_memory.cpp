#include "apps/runtime/amounts_memory.hpp"

#include <algorithm>
#include <vector>

namespace attune::detail {

namespace {

using collectives::Amounts;

// The call's counts as collectives means them: in the public header the own count of gather_v and scatter_v is `count`.
Counts sent(const Call& call) noexcept {
    return call.collective == Collective::gather_v ? Counts(&call.count, 1) : call.send;
}
Counts received(const Call& call) noexcept {
    return call.collective == Collective::scatter_v ? Counts(&call.count, 1) : call.receive;
}

collectives::Transfer translated(const Transfer& transfer) noexcept {
    return {transfer.is_send, transfer.peer, transfer.count, transfer.offset};
}

bool equal(const Amounts& amounts, const Call& call) {
    return std::ranges::equal(amounts.send, sent(call)) && std::ranges::equal(amounts.receive, received(call)) &&
           std::ranges::equal(amounts.send_offsets, call.send_offsets) && std::ranges::equal(amounts.receive_offsets, call.receive_offsets) &&
           std::ranges::equal(amounts.matrix, call.matrix) && amounts.destination == call.destination && amounts.source == call.source &&
           std::ranges::equal(amounts.transfers, call.transfers, {}, {}, translated);
}

std::vector<std::uint64_t> copy(Counts counts) {
    return {counts.begin(), counts.end()};
}

std::shared_ptr<const Amounts> made(const Call& call) {
    auto amounts = std::make_shared<Amounts>();
    amounts->send = copy(sent(call));
    amounts->receive = copy(received(call));
    amounts->send_offsets = copy(call.send_offsets);
    amounts->receive_offsets = copy(call.receive_offsets);
    amounts->matrix = copy(call.matrix);
    amounts->destination = call.destination;
    amounts->source = call.source;
    for (const Transfer& transfer : call.transfers)
        amounts->transfers.push_back(translated(transfer));
    return amounts;
}

}  // namespace

std::shared_ptr<const Amounts> AmountsMemory::of(const Call& call) {
    for (const auto& known : recent_) {
        if (known && equal(*known, call)) return known;
    }
    std::shared_ptr<const Amounts>& place = recent_[oldest_++ % recent_.size()];
    place = made(call);
    return place;
}

}  // namespace attune::detail
