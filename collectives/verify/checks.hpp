// Checks that need no execution. Each object only keeps its arrays between uses.
#pragma once

#include "collectives/verify/program_set.hpp"

#include <cstdint>
#include <vector>

namespace attune::collectives::verify {

// Matches the k-th send a -> b on a channel with the k-th receive there: sets Message::reader and next, Source::message. Refutes receives without
// a send, differing lengths and messages nobody receives.
class Matching {
public:
    Refutation check(ProgramSet& set);

private:
    static std::size_t lane(const ProgramSet& set, Rank from, Rank to, int channel) noexcept {
        const auto ranks = static_cast<std::size_t>(set.problem.ranks);
        return (static_cast<std::size_t>(channel) * ranks + static_cast<std::size_t>(from)) * ranks + static_cast<std::size_t>(to);
    }
    void link_messages(ProgramSet& set);
    Refutation match_fold(ProgramSet& set, std::uint32_t action);

    std::vector<std::uint32_t> first_, last_, cursor_;  // per lane: messages
};

// Writes into slices that queued sends still read. For schedules the waits are derived; a plan must list them: missing ones are refuted. Also refutes
// the race of a put: a receive whose slice is posted at call start, because only a send of that slice to that peer comes before, while the peer
// writes before it has read that send.
class Overwrites {
public:
    Refutation check(ProgramSet& set);

private:
    Refutation check_fold(ProgramSet& set, std::uint32_t fold);
    Refutation require_waits(const ProgramSet& set, std::uint32_t fold) const;
    void note_listed(const ProgramSet& set, const Action& fold);
    bool waited_for(const ProgramSet& set, std::uint32_t send) const;
    Refutation check_put(const ProgramSet& set, std::uint32_t fold) const;
    void find_overlaps(const Action& fold);
    void forget_overlaps();

    std::vector<std::uint32_t> begin_, end_, send_;  // slices that sends of the program so far read
    std::vector<std::uint32_t> found_;               // places in the three above
    // Per peer: 1 + the latest send to it that was waited for; earlier ones are over, too. Those that are over only when acknowledged have a number
    // of their own: a later message may be out while they are not.
    std::vector<std::uint32_t> waited_, acknowledged_;
};

// The messages of plans that pass no staging: both ends agree on the protocol; a put lands in the slice of its fold, whose lane is posted, and which nothing
// touches from call start on, except one send of it to that same peer that the peer reads before it puts. (That a get and a mixed message is over when
// it is acknowledged is the rendezvous of the walk.)
class DirectMessages {
public:
    Refutation check(const ProgramSet& set) const;

private:
    static Refutation check_put(const ProgramSet& set, const Action& fold, const Message& message);
};

// Channels run in any order: no element may be written on one and touched on another.
class ChannelConflicts {
public:
    Refutation check(const ProgramSet& set);

private:
    bool mark(const ProgramSet& set, Rank rank);

    std::vector<std::uint8_t> reads_, writes_;  // per element: channels as bits
};

}  // namespace attune::collectives::verify
