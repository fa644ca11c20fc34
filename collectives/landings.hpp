// Which messages of a rank may be put: those whose place nothing touches before they come.
#pragma once

#include "collectives/placement.hpp"
#include "collectives/schedule.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

namespace attune::collectives {

// Where one received message goes.
struct Landing {
    bool free = false;  // from call start on its sender may write there
    Memory memory = Memory::output;
    std::uint64_t offset = 0;  // bytes
};

// The messages of one rank's schedule in program order, by sender and channel. A message is `free` when it is all that its fold takes, and
// no earlier step of the channel touches the slice, except one send of exactly that slice to that same peer (which proven schedules let
// the peer read before it answers).
class Landings {
public:
    Landings(const Problem& problem, const Schedule& schedule);
    // The number-th message that `sender` sends there on the channel. Not free when there is none: the other end finds the mismatch.
    Landing at(Rank sender, std::uint8_t channel, std::size_t number) const noexcept;

private:
    std::array<std::vector<std::vector<Landing>>, max_channels> landings_;  // by channel and sender
};

// Gives any rank's schedule.
using ScheduleOf = std::function<Schedule(Rank)>;

// Which messages of a rank are put, sent and received: the receiver's schedule says so at both ends. What it is given must outlive it.
class Puts {
public:
    Puts(const Problem& problem, const Schedule& schedule, const ScheduleOf& schedule_of)
        : problem_(problem),
          own_(problem, schedule),
          rank_(schedule.rank),
          schedule_of_(schedule_of),
          sent_(static_cast<std::size_t>(problem.ranks)),
          received_(static_cast<std::size_t>(problem.ranks)) {}

    // For each send and each received message in program order of each channel.
    Landing next_sent(const Step& step) {
        auto found = peers_.find(step.peer);
        if (found == peers_.end()) found = peers_.emplace(step.peer, Landings(problem_, schedule_of_(step.peer))).first;
        return found->second.at(rank_, step.channel, sent_[static_cast<std::size_t>(step.peer)][step.channel]++);
    }
    Landing next_received(const Step& step) { return own_.at(step.peer, step.channel, received_[static_cast<std::size_t>(step.peer)][step.channel]++); }

private:
    using Counts = std::array<std::size_t, max_channels>;

    const Problem& problem_;
    Landings own_;
    Rank rank_;
    const ScheduleOf& schedule_of_;
    std::map<Rank, Landings> peers_;
    std::vector<Counts> sent_, received_;  // by peer
};

}  // namespace attune::collectives
