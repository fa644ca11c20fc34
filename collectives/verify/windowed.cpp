#include "collectives/verify/windowed.hpp"

#include <fmt/format.h>

namespace attune::collectives::verify {

void Windowed::start(const ProgramSet& set) {
    sends_.assign(set.actions.size(), {});
    folds_.assign(set.actions.size(), {});
    next_.assign(set.program_begin.begin(), set.program_begin.end() - 1);
    queued_.assign(set.programs(), 0);
    ready_.clear();
    for (const Message& message : set.messages) {
        ++folds_[message.reader].missing;
        if (message.next != none) ++sends_[set.messages[message.next].sender].blocked;
    }
    for (std::uint32_t program = set.programs(); program-- > 0;)
        wake(program);
}

void Windowed::wake(std::uint32_t program) {
    if (queued_[program] != 0) return;
    queued_[program] = 1;
    ready_.push_back(program);
}

Refutation Windowed::run(const ProgramSet& set) {
    start(set);
    while (!ready_.empty()) {
        const std::uint32_t program = ready_.back();
        ready_.pop_back();
        queued_[program] = 0;
        advance(set, program);
    }
    return stuck(set);
}

void Windowed::advance(const ProgramSet& set, std::uint32_t program) {
    std::uint32_t& next = next_[program];
    for (const std::uint32_t end = set.program_begin[program + 1]; next < end; ++next) {
        if (set.actions[next].is_send) {
            sends_[next].issued = true;
            if (sends_[next].blocked == 0) stage(set, next);
        } else if (!hazards_over(set, next) || !take_fragments(set, next)) {
            return;
        }
    }
}

// A send is over for its slice when all fragments are staged. Asked once, before the first fragment is written.
bool Windowed::hazards_over(const ProgramSet& set, std::uint32_t fold) {
    const Action& action = set.actions[fold];
    if (folds_[fold].taken > 0) return true;
    for (std::uint32_t i = action.first_hazard; i < action.first_hazard + action.hazard_count; ++i) {
        if (sends_[set.hazards[i]].staged < fragments) return false;
    }
    return true;
}

// Takes every fragment that is there; true when the fold is complete.
bool Windowed::take_fragments(const ProgramSet& set, std::uint32_t fold) {
    const Action& action = set.actions[fold];
    while (folds_[fold].taken < fragments) {
        if (folds_[fold].missing > 0) return false;
        ++folds_[fold].taken;
        std::uint32_t messages = 0;
        for (std::uint32_t i = action.first; i < action.first + action.count; ++i)
            messages += set.sources[i].peer >= 0 ? 1 : 0;
        folds_[fold].missing = messages;
        for (std::uint32_t i = action.first; i < action.first + action.count; ++i) {
            if (set.sources[i].peer >= 0) read(set, set.sources[i].message);
        }
    }
    return true;
}

void Windowed::read(const ProgramSet& set, std::uint32_t message) {
    const std::uint32_t send = set.messages[message].sender;
    if (--sends_[send].unread > 0) return;
    if (sends_[send].staged < fragments) {
        stage(set, send);
    } else {
        leave_lanes(set, send);
    }
}

void Windowed::stage(const ProgramSet& set, std::uint32_t send) {
    const Action& action = set.actions[send];
    sends_[send].unread = action.count;
    if (++sends_[send].staged == fragments) wake(action.program);
    for (std::uint32_t message = action.first; message < action.first + action.count; ++message) {
        const std::uint32_t reader = set.messages[message].reader;
        if (--folds_[reader].missing == 0) wake(set.actions[reader].program);
    }
}

void Windowed::leave_lanes(const ProgramSet& set, std::uint32_t send) {
    const Action& action = set.actions[send];
    for (std::uint32_t message = action.first; message < action.first + action.count; ++message) {
        const std::uint32_t next = set.messages[message].next;
        if (next == none) continue;
        const std::uint32_t following = set.messages[next].sender;
        if (--sends_[following].blocked == 0 && sends_[following].issued) stage(set, following);
    }
}

Refutation Windowed::stuck(const ProgramSet& set) const {
    for (std::uint32_t program = 0; program < set.programs(); ++program) {
        if (next_[program] == set.program_begin[program + 1]) continue;
        const Action& action = set.actions[next_[program]];
        for (std::uint32_t i = action.first; i < action.first + action.count; ++i) {
            if (set.sources[i].peer < 0) continue;
            const std::uint32_t send = set.messages[set.sources[i].message].sender;
            if (sends_[send].staged <= folds_[next_[program]].taken)
                return fmt::format("deadlock under a window of one fragment: {} waits for fragment {} of {}", set.where(action), folds_[next_[program]].taken,
                                   set.where(set.actions[send]));
        }
        return fmt::format("deadlock under a window of one fragment: {} waits until what it overwrites is staged", set.where(action));
    }
    return {};
}

}  // namespace attune::collectives::verify
