#include "collectives/landings.hpp"

#include "libcore/dtypes.hpp"

#include <algorithm>
#include <iterator>
#include <map>

namespace attune::collectives {

namespace {

// What steps have touched so far, as disjoint ranges. Ranges that meet become one.
class Touched {
public:
    void touch(std::uint64_t begin, std::uint64_t end, Rank only_sent_to) {
        if (begin == end) return;
        auto next = first_meeting(begin);
        while (next != ranges_.end() && next->first < end) {
            only_sent_to = -1;
            begin = std::min(begin, next->first);
            end = std::max(end, next->second.end);
            next = ranges_.erase(next);
        }
        ranges_.emplace_hint(next, begin, Range{end, only_sent_to});
    }

    // Nothing meets [begin, end), or only one send of exactly that to `peer`.
    bool leaves_free(std::uint64_t begin, std::uint64_t end, Rank peer) const {
        const auto found = const_cast<Touched*>(this)->first_meeting(begin);
        if (found == ranges_.end() || found->first >= end) return true;
        return found->first == begin && found->second.end == end && found->second.only_sent_to == peer;
    }

private:
    struct Range {
        std::uint64_t end;
        Rank only_sent_to;  // -1: more than one send to one peer
    };

    std::map<std::uint64_t, Range>::iterator first_meeting(std::uint64_t begin) {
        const auto after = ranges_.upper_bound(begin);
        if (after == ranges_.begin()) return after;
        const auto before = std::prev(after);
        return before->second.end > begin ? before : after;
    }

    std::map<std::uint64_t, Range> ranges_;
};

class Finder {
public:
    Finder(const Problem& problem, const Schedule& schedule)
        : steps_(schedule.steps), places_(placements(problem, schedule)), size_(core::size_of(problem.dtype)) {}

    // Of the receive at `index`; and notes what the step touches.
    Landing pass(std::size_t index) {
        const Step& step = steps_[index];
        if (step.kind == StepKind::send) {
            touch(step, step.source, step.source_offset, step.peer);
            return {};
        }
        if (step.kind == StepKind::copy || step.kind == StepKind::reduce) touch(step, step.source, step.source_offset, -1);
        Landing landing;
        if (step.kind == StepKind::recv) landing = landing_of(index);
        touch(step, step.destination, step.destination_offset, -1);
        return landing;
    }

private:
    std::uint64_t begin_of(BufferId buffer, std::uint64_t offset) const noexcept {
        const Placement& place = places_[static_cast<std::size_t>(buffer)];
        return (static_cast<std::uint64_t>(place.memory) << 62) + place.base + offset * size_;  // offsets stay far below 2^62
    }

    void touch(const Step& step, BufferId buffer, std::uint64_t offset, Rank only_sent_to) {
        const std::uint64_t begin = begin_of(buffer, offset);
        touched_[step.channel].touch(begin, begin + step.length * size_, only_sent_to);
    }

    bool takes_only_this(std::size_t index) const noexcept {
        const std::size_t next = index + 1;
        return !steps_[index].joined && (next == steps_.size() || !steps_[next].joined);
    }

    Landing landing_of(std::size_t index) const {
        const Step& step = steps_[index];
        const Placement& place = places_[static_cast<std::size_t>(step.destination)];
        const std::uint64_t begin = begin_of(step.destination, step.destination_offset);
        const bool free = takes_only_this(index) && touched_[step.channel].leaves_free(begin, begin + step.length * size_, step.peer);
        return {free, place.memory, place.base + step.destination_offset * size_};
    }

    const std::vector<Step>& steps_;
    std::array<Placement, 3> places_;
    std::uint64_t size_;
    std::array<Touched, max_channels> touched_;
};

}  // namespace

Landings::Landings(const Problem& problem, const Schedule& schedule) {
    for (auto& of_channel : landings_)
        of_channel.resize(static_cast<std::size_t>(problem.ranks));
    Finder finder(problem, schedule);
    for (std::size_t index = 0; index < schedule.steps.size(); ++index) {
        const Step& step = schedule.steps[index];
        if (step.channel >= max_channels) return;
        const Landing landing = finder.pass(index);
        if (step.kind == StepKind::recv && step.peer >= 0 && step.peer < problem.ranks)
            landings_[step.channel][static_cast<std::size_t>(step.peer)].push_back(landing);
    }
}

Landing Landings::at(Rank sender, std::uint8_t channel, std::size_t number) const noexcept {
    const std::vector<Landing>& of_sender = landings_[channel][static_cast<std::size_t>(sender)];
    return number < of_sender.size() ? of_sender[number] : Landing{};
}

}  // namespace attune::collectives
