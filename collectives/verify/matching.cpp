#include "collectives/verify/checks.hpp"

#include <fmt/format.h>

namespace attune::collectives::verify {

void Matching::link_messages(ProgramSet& set) {
    const std::size_t lanes = lane(set, 0, 0, set.channels);
    first_.assign(lanes, none);
    last_.assign(lanes, none);
    for (std::uint32_t index = 0; index < set.messages.size(); ++index) {
        const std::uint32_t program = set.actions[set.messages[index].sender].program;
        const std::size_t at = lane(set, set.rank_of(program), set.messages[index].peer, set.channel_of(program));
        if (last_[at] == none) {
            first_[at] = index;
        } else {
            set.messages[last_[at]].next = index;
        }
        last_[at] = index;
    }
    cursor_ = first_;
}

Refutation Matching::match_fold(ProgramSet& set, std::uint32_t index) {
    const Action& fold = set.actions[index];
    const Rank rank = set.rank_of(fold);
    const int channel = set.channel_of(fold.program);
    for (std::uint32_t i = fold.first; i < fold.first + fold.count; ++i) {
        Source& source = set.sources[i];
        if (source.peer < 0) continue;
        std::uint32_t& cursor = cursor_[lane(set, source.peer, rank, channel)];
        if (cursor == none) return fmt::format("{} receives from rank {} a message that was never sent", set.where(fold), source.peer);
        Message& message = set.messages[cursor];
        const Action& sender = set.actions[message.sender];
        if (sender.length != fold.length) return fmt::format("{} meets {}: lengths differ", set.where(fold), set.where(sender));
        source.message = cursor;
        message.reader = index;
        cursor = message.next;
    }
    return {};
}

Refutation Matching::check(ProgramSet& set) {
    link_messages(set);
    for (std::uint32_t index = 0; index < set.actions.size(); ++index) {
        if (set.actions[index].is_send) continue;
        if (Refutation refutation = match_fold(set, index)) return refutation;
    }
    for (const Message& message : set.messages) {
        if (message.reader == none) return fmt::format("{}: rank {} never receives it", set.where(set.actions[message.sender]), message.peer);
    }
    return {};
}

}  // namespace attune::collectives::verify
