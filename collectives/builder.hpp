// Writes one rank's program round by round. Rounds exist while building and composing; the stored schedule is flat.
#pragma once

#include "collectives/schedule.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace attune::collectives {

// Elements [offset, offset + length) of one buffer.
struct Slice {
    BufferId buffer = BufferId::input;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;

    // Elements [first, first + elements) of this slice.
    Slice part(std::uint64_t first, std::uint64_t elements) const noexcept { return {buffer, offset + first, elements}; }
};

// One rank's steps on one channel, cut into rounds. A message is sent and received in the same round, and a send reads only what earlier rounds
// wrote. The number of rounds is the same on all ranks; idle ranks have empty rounds.
struct Program {
    Rank rank = 0;
    std::uint64_t scratch_elements = 0;
    std::vector<Step> steps;
    std::vector<std::uint32_t> round_end;  // steps of round i: [round_end[i - 1], round_end[i])

    std::size_t rounds() const noexcept { return round_end.size(); }
    std::span<const Step> round(std::size_t index) const noexcept;
};

// One source of a fold: the next message of a peer, or a local slice of the destination's length.
struct Term {
    Rank peer = -1;
    BufferId buffer = BufferId::input;
    std::uint64_t offset = 0;

    static Term message(Rank peer) noexcept { return {peer, BufferId::input, 0}; }
    static Term local(const Slice& slice) noexcept { return {-1, slice.buffer, slice.offset}; }
};

// What ends a fold besides storing it: nothing, or the division of avg.
enum class Finish : std::uint8_t { store, scale };

// Steps of length 0 are left out on both ends alike, because their length is equal on both ends; a barrier keeps them, its messages carry no bytes.
class Builder {
public:
    enum class Empty : std::uint8_t { drop, keep };
    explicit Builder(Rank rank, Empty empty = Empty::drop) : keep_empty_(empty == Empty::keep) { program_.rank = rank; }

    // A new scratch range of this many elements.
    Slice scratch(std::uint64_t elements);

    void send(Rank peer, const Slice& source);
    // Sends of one slice right after each other: the plan stages them once.
    void multicast(std::span<const Rank> peers, const Slice& source);
    void recv(Rank peer, const Slice& destination);
    void copy(const Slice& source, const Slice& destination);
    // destination = message + destination.
    void recv_reduce(Rank peer, const Slice& destination);
    // destination = message + own, where own may be the destination.
    void recv_reduce(Rank peer, const Slice& own, const Slice& destination, Finish finish = Finish::store);
    // destination = terms[0] + terms[1] + ... in this order.
    void fold(std::span<const Term> terms, const Slice& destination, Finish finish = Finish::store);

    void end_round();
    // The last round is closed by end_round(), too. The builder is empty afterwards.
    Program finish();

private:
    bool dropped(const Slice& slice) const noexcept { return slice.length == 0 && !keep_empty_; }

    Program program_;
    bool keep_empty_;
};

}  // namespace attune::collectives
