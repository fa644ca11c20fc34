// Steps to actions: joined steps become folds, sends of one slice to several peers become one send, as the plan compiler does it.
#include "collectives/verify/program_set.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace attune::collectives::verify {

namespace {

Layout layout_of(const Problem& problem, const Schedule& schedule) {
    Layout layout;
    layout.size = {problem.input_elements(schedule.rank), problem.output_elements(schedule.rank), schedule.scratch_elements};
    if (problem.in_place) {
        layout.base = {in_place_input_offset(problem, schedule.rank), in_place_output_offset(problem, schedule.rank), problem.in_place_elements()};
    } else {
        layout.base = {0, layout.size[0], layout.size[0] + layout.size[1]};
    }
    layout.total = layout.base[2] + std::min(schedule.scratch_elements, std::uint64_t{1} << 40);
    return layout;
}

class Lowering {
public:
    Lowering(ProgramSet& set) : set_(set), last_send_(static_cast<std::size_t>(set.problem.ranks), none) {}

    Refutation run() {
        for (const Schedule& schedule : set_.schedules) {
            schedule_ = &schedule;
            layout_ = &set_.layouts[static_cast<std::size_t>(schedule.rank)];
            for (int channel = 0; channel < set_.channels; ++channel) {
                if (Refutation refutation = lower_program(channel)) return refutation;
            }
        }
        set_.program_begin.push_back(static_cast<std::uint32_t>(set_.actions.size()));
        return {};
    }

private:
    Refutation wrong(std::size_t step, std::string_view why) const {
        return fmt::format("rank {} step {} ({}) {}", schedule_->rank, step, describe(schedule_->steps[step]), why);
    }

    Refutation lower_program(int channel) {
        const std::vector<Step>& steps = schedule_->steps;
        program_ = set_.program_of(schedule_->rank, channel);
        set_.program_begin.push_back(static_cast<std::uint32_t>(set_.actions.size()));
        for (std::size_t step = 0; step < steps.size();) {
            if (steps[step].channel != channel) {
                ++step;
                continue;
            }
            std::size_t end = step + 1;
            while (end < steps.size() && steps[end].joined)
                ++end;
            Refutation refutation = steps[step].kind == StepKind::send ? lower_send(step, end) : lower_fold(step, end);
            if (refutation) return refutation;
            step = end;
        }
        return {};
    }

    // The address of a slice, or none when it leaves its buffer. Overflow-safe: offset and length are any 64-bit numbers.
    std::uint32_t address_of(BufferId buffer, std::uint64_t offset, std::uint64_t length) const {
        const auto index = static_cast<std::size_t>(buffer);
        if (index >= layout_->size.size()) return none;
        const std::uint64_t size = layout_->size[index];
        if (offset > size || length > size - offset) return none;
        return static_cast<std::uint32_t>(layout_->base[index] + offset);
    }

    Action& append(std::size_t step, bool is_send, std::uint32_t address) {
        Action action;
        action.is_send = is_send;
        action.program = program_;
        action.address = address;
        action.length = static_cast<std::uint32_t>(schedule_->steps[step].length);
        action.first = static_cast<std::uint32_t>(is_send ? set_.messages.size() : set_.sources.size());
        action.origin = static_cast<std::uint32_t>(step);
        return set_.actions.emplace_back(action);
    }

    Refutation lower_send(std::size_t step, std::size_t end) {
        const Step& send = schedule_->steps[step];
        if (send.joined || end != step + 1) return wrong(step, "is a send in a fold");
        if (Refutation refutation = check_peer(set_, schedule_->rank, send.peer, "")) return wrong(step, *refutation);
        const std::uint32_t address = address_of(send.source, send.source_offset, send.length);
        if (address == none) return wrong(step, "reads outside its buffer");
        const auto count = static_cast<std::uint32_t>(set_.actions.size());
        std::uint32_t& last = last_send_[static_cast<std::size_t>(send.peer)];
        const bool first = set_.program_begin.back() == count;
        const bool joins =
            !first && last != count - 1 && set_.actions.back().is_send && set_.actions.back().address == address && set_.actions.back().length == send.length;
        Action& action = joins ? set_.actions.back() : append(step, true, address);
        last = static_cast<std::uint32_t>(set_.actions.size() - 1);
        ++action.count;
        set_.messages.push_back({send.peer, last, none, none});
        return {};
    }

    Refutation lower_fold(std::size_t begin, std::size_t end) {
        const Step& first = schedule_->steps[begin];
        if (first.joined) return wrong(begin, "joins nothing");
        if (first.kind == StepKind::reduce) return wrong(begin, "reduces without a fold");
        const std::uint32_t target = address_of(first.destination, first.destination_offset, first.length);
        if (target == none) return wrong(begin, "writes outside its buffer");
        if (first.destination == BufferId::input && !set_.problem.in_place) return wrong(begin, "writes the input of a call that is not in place");
        append(begin, false, target);
        for (std::size_t step = begin; step < end; ++step) {
            if (Refutation refutation = add_source(begin, step, step + 1 == end)) return refutation;
        }
        Action& action = set_.actions.back();
        action.count = static_cast<std::uint32_t>(set_.sources.size()) - action.first;
        return {};
    }

    Refutation add_source(std::size_t begin, std::size_t index, bool last) {
        const Step& step = schedule_->steps[index];
        const Step& first = schedule_->steps[begin];
        const Action& fold = set_.actions.back();
        if (step.channel != first.channel || step.length != first.length || step.destination != first.destination ||
            step.destination_offset != first.destination_offset)
            return wrong(index, "joins a fold of another slice or channel");
        switch (step.kind) {
            case StepKind::send:
                return wrong(index, "is a send in a fold");
            case StepKind::recv:
                set_.sources.push_back({step.peer, 0, none});
                if (Refutation refutation = check_peer(set_, schedule_->rank, step.peer, "")) return wrong(index, *refutation);
                return {};
            case StepKind::copy:
                if (index != begin) return wrong(index, "is a copy inside a fold");
                break;
            case StepKind::reduce:
                break;
            case StepKind::scale:
                if (!last) return wrong(index, "is a scale that does not end its fold");
                if (index == begin) set_.sources.push_back({-1, fold.address, none});
                set_.actions.back().scale = true;
                return {};
            default:
                return wrong(index, "has no kind");
        }
        const std::uint32_t address = address_of(step.source, step.source_offset, step.length);
        if (address == none) return wrong(index, "reads outside its buffer");
        const bool apart = address >= fold.address + fold.length || fold.address >= address + fold.length;
        if (!apart && address != fold.address) return wrong(index, "reads a slice that overlaps its destination in part");
        set_.sources.push_back({-1, address, none});
        return {};
    }

    ProgramSet& set_;
    const Schedule* schedule_ = nullptr;
    const Layout* layout_ = nullptr;
    std::uint32_t program_ = 0;
    std::vector<std::uint32_t> last_send_;  // per peer: the last action that sends to it
};

Refutation check_channels(const Schedule& schedule, int& channels) {
    for (std::size_t step = 0; step < schedule.steps.size(); ++step) {
        const Step& at = schedule.steps[step];
        if (at.channel >= max_channels) return fmt::format("rank {} step {} ({}) is on no channel", schedule.rank, step, describe(at));
        channels = std::max(channels, at.channel + 1);
        if (at.joined && (step == 0 || schedule.steps[step - 1].channel != at.channel))
            return fmt::format("rank {} step {} ({}) joins a step of another channel", schedule.rank, step, describe(at));
    }
    return {};
}

}  // namespace

Refutation lower(const Problem& problem, std::span<const Schedule> schedules, ProgramSet& set) {
    set.clear();
    if (Refutation refutation = check_problem(problem, schedules.size())) return refutation;
    set.problem = problem;
    set.schedules = schedules;
    set.hazards_listed = false;
    set.channels = 1;
    for (std::size_t rank = 0; rank < schedules.size(); ++rank) {
        if (schedules[rank].rank != static_cast<Rank>(rank)) return fmt::format("the schedule at place {} belongs to rank {}", rank, schedules[rank].rank);
        if (Refutation refutation = check_channels(schedules[rank], set.channels)) return refutation;
        set.layouts.push_back(layout_of(problem, schedules[rank]));
    }
    check_size(set);
    return Lowering(set).run();
}

}  // namespace attune::collectives::verify
