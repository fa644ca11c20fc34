#include "collectives/composition.hpp"

#include "libcore/error.hpp"

#include <algorithm>
#include <string>

namespace attune::collectives {

namespace {

Step moved_scratch(Step step, std::uint64_t shift) {
    if (step.source == BufferId::scratch && (step.kind != StepKind::recv && step.kind != StepKind::scale)) step.source_offset += shift;
    if (step.destination == BufferId::scratch && step.kind != StepKind::send) step.destination_offset += shift;
    return step;
}

// Appends the sends, or everything else, of one round.
void append(std::vector<Step>& steps, std::span<const Step> round, bool sends, std::uint64_t scratch) {
    for (const Step& step : round) {
        if ((step.kind == StepKind::send) == sends) steps.push_back(moved_scratch(step, scratch));
    }
}

std::size_t longest(std::span<const Program> segments) {
    std::size_t rounds = 0;
    for (const Program& segment : segments)
        rounds = std::max(rounds, segment.rounds());
    return rounds;
}

// Segments [first, tick] can be active at this tick.
struct Tick {
    std::size_t tick, first;
};

void append_tick(Program& result, std::span<const Program> segments, std::span<const std::uint64_t> scratch, const Tick& at) {
    for (const bool sends : {true, false}) {
        for (std::size_t segment = at.first; segment < segments.size() && segment <= at.tick; ++segment) {
            const std::size_t round = at.tick - segment;
            if (round < segments[segment].rounds()) append(result.steps, segments[segment].round(round), sends, scratch[segment]);
        }
    }
    result.round_end.push_back(static_cast<std::uint32_t>(result.steps.size()));
}

}  // namespace

Program then(Program first, const Program& second) {
    const auto shift = static_cast<std::uint32_t>(first.steps.size());
    first.steps.insert(first.steps.end(), second.steps.begin(), second.steps.end());
    for (const std::uint32_t end : second.round_end)
        first.round_end.push_back(shift + end);
    first.scratch_elements = std::max(first.scratch_elements, second.scratch_elements);
    return first;
}

Program on_ranks(std::span<const Rank> members, Rank rank, const std::function<Program(Rank)>& generate) {
    const auto place = std::ranges::find(members, rank);
    if (place == members.end()) {
        Program idle{rank, 0, {}, {}};
        idle.round_end.assign(generate(0).rounds(), 0);
        return idle;
    }
    Program program = generate(static_cast<Rank>(place - members.begin()));
    program.rank = rank;
    for (Step& step : program.steps) {
        if (step.peer >= 0) step.peer = members[static_cast<std::size_t>(step.peer)];
    }
    return program;
}

Program reading_output(Program program) {
    for (Step& step : program.steps) {
        const bool reads = step.kind == StepKind::send || step.kind == StepKind::copy || step.kind == StepKind::reduce;
        if (reads && step.source == BufferId::input) step.source = BufferId::output;
    }
    return program;
}

Program pipelined(std::span<const Program> segments) {
    Program result{segments.front().rank, 0, {}, {}};
    std::vector<std::uint64_t> scratch;
    std::size_t steps = 0;
    for (const Program& segment : segments) {
        scratch.push_back(result.scratch_elements);
        result.scratch_elements += segment.scratch_elements;
        steps += segment.steps.size();
    }
    result.steps.reserve(steps);
    const std::size_t rounds = longest(segments);
    for (std::size_t tick = 0; rounds > 0 && tick < rounds + segments.size() - 1; ++tick)
        append_tick(result, segments, scratch, {tick, tick + 1 > rounds ? tick + 1 - rounds : 0});
    return result;
}

Schedule split(std::span<const Program> channels) {
    if (channels.empty() || channels.size() > static_cast<std::size_t>(max_channels)) {
        throw core::Error(core::ErrorCode::usage, "a schedule has 1 to " + std::to_string(max_channels) + " channels, not " + std::to_string(channels.size()));
    }
    Schedule schedule{channels.front().rank, 0, {}};
    std::size_t steps = 0;
    for (const Program& program : channels)
        steps += program.steps.size();
    schedule.steps.reserve(steps);
    for (std::size_t channel = 0; channel < channels.size(); ++channel) {
        for (const Step& step : channels[channel].steps) {
            schedule.steps.push_back(moved_scratch(step, schedule.scratch_elements));
            schedule.steps.back().channel = static_cast<std::uint8_t>(channel);
        }
        schedule.scratch_elements += channels[channel].scratch_elements;
    }
    return schedule;
}

}  // namespace attune::collectives
