#include "tests/support/mutations.hpp"

#include <functional>
#include <utility>

namespace attune::test {

namespace {

using namespace collectives;

bool has_peer(const Step& step) {
    return step.kind == StepKind::send || step.kind == StepKind::recv;
}
bool reads(const Step& step) {
    return step.kind == StepKind::send || step.kind == StepKind::copy || step.kind == StepKind::reduce;
}
bool writes(const Step& step) {
    return step.kind != StepKind::send;
}

class ScheduleMutations {
public:
    ScheduleMutations(const Schedule& schedule, int ranks) : schedule_(schedule), ranks_(ranks) {}

    std::vector<Mutant<Schedule>> run() {
        for (std::size_t step = 0; step < schedule_.steps.size(); ++step) {
            change_numbers(step);
            change_order(step);
            change_channel(step);
            change_operands(step);
        }
        return std::move(mutants_);
    }

private:
    using Change = std::function<void(std::vector<Step>&)>;

    void add(std::size_t step, const std::string& what, const Change& change) {
        Mutant<Schedule> mutant{"step " + std::to_string(step) + " (" + describe(schedule_.steps[step]) + ")", what, schedule_};
        change(mutant.program.steps);
        mutants_.push_back(std::move(mutant));
    }

    // One past the last step of the fold that begins here; the step itself when it is no fold.
    std::size_t fold_end(std::size_t step) const {
        std::size_t end = step + 1;
        while (end < schedule_.steps.size() && schedule_.steps[end].joined)
            ++end;
        return end;
    }
    bool begins_fold(std::size_t step) const { return !schedule_.steps[step].joined && fold_end(step) > step + 1; }

    void for_one_and_all(std::size_t step, const std::string& what, const std::function<void(Step&)>& change) {
        add(step, what, [&](std::vector<Step>& steps) { change(steps[step]); });
        if (!begins_fold(step)) return;
        add(step, what + " of the whole fold", [&](std::vector<Step>& steps) {
            for (std::size_t i = step; i < fold_end(step); ++i)
                change(steps[i]);
        });
    }

    void change_numbers(std::size_t index) {
        const Step& step = schedule_.steps[index];
        for (const int by : {-1, 1}) {
            const std::string sign = by > 0 ? " + 1" : " - 1";
            const auto off = static_cast<std::uint64_t>(by);  // wraps below 0, which must be noticed, too
            if (has_peer(step)) add(index, "peer" + sign, [&](auto& steps) { steps[index].peer = (step.peer + by + ranks_) % ranks_; });
            if (reads(step)) add(index, "source" + sign, [&](auto& steps) { steps[index].source_offset += off; });
            if (writes(step)) for_one_and_all(index, "destination" + sign, [&](Step& s) { s.destination_offset += off; });
            if (step.length > 0 || by > 0) for_one_and_all(index, "length" + sign, [&](Step& s) { s.length += off; });
        }
    }

    void change_order(std::size_t index) {
        const auto at = static_cast<std::ptrdiff_t>(index);
        add(index, "dropped", [&](auto& steps) { steps.erase(steps.begin() + at); });
        add(index, "repeated", [&](auto& steps) { steps.insert(steps.begin() + at, Step(steps[index])); });
        if (index + 1 < schedule_.steps.size()) add(index, "exchanged with the next", [&](auto& steps) { std::swap(steps[index], steps[index + 1]); });
    }

    void change_channel(std::size_t index) {
        const auto other = static_cast<std::uint8_t>(schedule_.steps[index].channel == 0 ? 1 : 0);
        for_one_and_all(index, "other channel", [&](Step& step) { step.channel = other; });
    }

    void change_operands(std::size_t index) {
        const Step& step = schedule_.steps[index];
        add(index, "joined the other way", [&](auto& steps) { steps[index].joined = !step.joined; });
        if (reads(step)) {
            for (const BufferId buffer : {BufferId::input, BufferId::output, BufferId::scratch}) {
                if (buffer != step.source) add(index, "reads another buffer", [&](auto& steps) { steps[index].source = buffer; });
            }
        }
        if (step.kind == StepKind::reduce) {
            add(index, "reduces its destination", [&](auto& steps) {
                steps[index].source = step.destination;
                steps[index].source_offset = step.destination_offset;
            });
        }
        if (index + 1 < schedule_.steps.size() && schedule_.steps[index + 1].joined && schedule_.steps[index + 1].kind != StepKind::scale)
            add(index, "operand exchanged with the next", [&](auto& steps) { exchange_operands(steps[index], steps[index + 1]); });
    }

    // The fold keeps its form: a local operand is a copy in first place and a reduce elsewhere.
    static void exchange_operands(Step& first, Step& second) {
        std::swap(first, second);
        std::swap(first.joined, second.joined);
        for (Step* step : {&first, &second}) {
            if (step->kind != StepKind::recv) step->kind = step->joined ? StepKind::reduce : StepKind::copy;
        }
    }

    const Schedule& schedule_;
    int ranks_;
    std::vector<Mutant<Schedule>> mutants_;
};

}  // namespace

std::vector<Mutant<Schedule>> mutants_of(const Schedule& schedule, int ranks) {
    return ScheduleMutations(schedule, ranks).run();
}

}  // namespace attune::test
