#include "collectives/verify/checks.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace attune::collectives::verify {

namespace {

// The first action of the fold's program before it that touches its slice, other than `allowed`.
const Action* first_touch(const ProgramSet& set, const Action& fold, const Action* allowed) {
    const Action* const end = &fold;
    for (const Action* action = &set.actions[set.program_begin[fold.program]]; action != end; ++action) {
        if (action == allowed || action->length == 0) continue;
        if (action->overlaps(fold)) return action;
        for (std::uint32_t i = action->first; !action->is_send && i < action->first + action->count; ++i) {
            const Source& read = set.sources[i];
            if (read.peer < 0 && read.address < fold.address + fold.length && fold.address < read.address + action->length) return action;
        }
    }
    return nullptr;
}

bool is_posted(const ProgramSet& set, const Action& fold, Rank sender) {
    const Post post{sender, static_cast<std::uint8_t>(set.channel_of(fold.program))};
    const std::vector<Post>& posts = set.plans[static_cast<std::size_t>(set.rank_of(fold))].posts;
    return std::ranges::find(posts, post) != posts.end();
}

}  // namespace

Refutation DirectMessages::check_put(const ProgramSet& set, const Action& fold, const Message& message) {
    const Action& put = set.actions[message.sender];
    const Rank sender = set.rank_of(put);
    if (fold.count != 1 || fold.scale) return fmt::format("{} takes more than the message that is put", set.where(fold));
    if (put.remote != fold.address) return fmt::format("{} lands elsewhere than in {}", set.where(put), set.where(fold));
    if (!is_posted(set, fold, sender)) return fmt::format("{} waits for a put of rank {} that knows no buffer", set.where(fold), sender);
    const Action* touch = first_touch(set, fold, nullptr);
    if (touch == nullptr) return {};
    const bool sent_back = touch->is_send && touch->count == 1 && touch->same_slice(fold) && set.messages[touch->first].peer == sender;
    if (!sent_back || first_touch(set, fold, touch) != nullptr)
        return fmt::format("{} is put from call start on, but {} touches its slice before", set.where(fold), set.where(*touch));
    // Equal programs run in order at the sender; actions of one program have ascending numbers.
    const std::uint32_t reader = set.messages[touch->first].reader;
    if (set.actions[reader].program == put.program && reader < message.sender) return {};
    return fmt::format("rank {} may fill the slice of {} before it has read {}", sender, set.where(fold), set.where(*touch));
}

Refutation DirectMessages::check(const ProgramSet& set) const {
    for (const Message& message : set.messages) {
        const Action& send = set.actions[message.sender];
        const Action& fold = set.actions[message.reader];
        if (send.protocol != fold.protocol && (is_direct(send.protocol) || is_direct(fold.protocol)))
            return fmt::format("{} and {} go different ways: {} and {}", set.where(send), set.where(fold), name_of(send.protocol), name_of(fold.protocol));
        if (send.protocol != Protocol::cma_put) continue;
        if (Refutation refutation = check_put(set, fold, message)) return refutation;
    }
    return {};
}

}  // namespace attune::collectives::verify
