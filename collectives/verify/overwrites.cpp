#include "collectives/verify/checks.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace attune::collectives::verify {

namespace {

bool needs_acknowledgement(const Action& send) {
    return send.protocol == Protocol::cma_get || send.protocol == Protocol::mixed;
}

}  // namespace

void Overwrites::find_overlaps(const Action& fold) {
    const std::uint32_t begin = fold.address;
    const std::uint32_t end = fold.address + fold.length;
    const std::size_t count = begin_.size();
    std::uint32_t any = 0;  // counted first: this loop is vectorized and nearly always finds nothing
    for (std::size_t i = 0; i < count; ++i)
        any += static_cast<std::uint32_t>(begin_[i] < end) & static_cast<std::uint32_t>(begin < end_[i]);
    found_.clear();
    for (std::size_t i = 0; any > 0 && i < count; ++i) {
        if (begin_[i] < end && begin < end_[i]) found_.push_back(static_cast<std::uint32_t>(i));
    }
}

void Overwrites::note_listed(const ProgramSet& set, const Action& fold) {
    for (std::uint32_t i = fold.first_hazard; i < fold.first_hazard + fold.hazard_count; ++i) {
        const std::uint32_t send = set.hazards[i];
        const Action& action = set.actions[send];
        for (std::uint32_t message = action.first; message < action.first + action.count; ++message) {
            const auto peer = static_cast<std::size_t>(set.messages[message].peer);
            waited_[peer] = std::max(waited_[peer], send + 1);
            if (needs_acknowledgement(action)) acknowledged_[peer] = std::max(acknowledged_[peer], send + 1);
        }
    }
}

bool Overwrites::waited_for(const ProgramSet& set, std::uint32_t send) const {
    const Action& action = set.actions[send];
    for (std::uint32_t message = action.first; message < action.first + action.count; ++message) {
        const std::vector<std::uint32_t>& over = needs_acknowledgement(action) ? acknowledged_ : waited_;
        if (over[static_cast<std::size_t>(set.messages[message].peer)] <= send) return false;
    }
    return true;
}

Refutation Overwrites::require_waits(const ProgramSet& set, std::uint32_t fold) const {
    for (const std::uint32_t place : found_) {
        if (waited_for(set, send_[place])) continue;
        return fmt::format("{} overwrites what {} may still read and does not list it", set.where(set.actions[fold]), set.where(set.actions[send_[place]]));
    }
    return {};
}

// The one earlier send that still leaves the slice postable at call start is the only thing that may have touched it.
Refutation Overwrites::check_put(const ProgramSet& set, std::uint32_t index) const {
    const Action& fold = set.actions[index];
    if (fold.count != 1 || fold.scale || found_.size() != 1) return {};
    const Source& source = set.sources[fold.first];
    const std::uint32_t send = send_[found_[0]];
    const Action& sent = set.actions[send];
    if (source.peer < 0 || sent.count != 1 || set.messages[sent.first].peer != source.peer || !sent.same_slice(fold)) return {};
    if (set.messages[sent.first].reader < set.messages[source.message].sender) return {};
    for (std::uint32_t earlier = set.program_begin[fold.program]; earlier < index; ++earlier) {
        const Action& action = set.actions[earlier];
        if (earlier != send && action.overlaps(fold)) return {};
        for (std::uint32_t i = action.first; !action.is_send && i < action.first + action.count; ++i) {
            const Source& read = set.sources[i];
            if (read.peer < 0 && read.address < fold.address + fold.length && fold.address < read.address + action.length) return {};
        }
    }
    return fmt::format("{} is posted at call start (put_posted), but rank {} may fill it before it has read {}", set.where(fold), source.peer, set.where(sent));
}

// Whoever waited for a send need not be checked against it again.
void Overwrites::forget_overlaps() {
    for (auto place = found_.rbegin(); place != found_.rend(); ++place) {
        for (std::vector<std::uint32_t>* values : {&begin_, &end_, &send_}) {
            (*values)[*place] = values->back();
            values->pop_back();
        }
    }
}

Refutation Overwrites::check_fold(ProgramSet& set, std::uint32_t index) {
    Action& fold = set.actions[index];
    if (set.hazards_listed) note_listed(set, fold);
    if (fold.length == 0) return {};
    find_overlaps(fold);
    if (found_.empty()) return {};
    if (Refutation refutation = check_put(set, index)) return refutation;
    if (set.hazards_listed) {
        if (Refutation refutation = require_waits(set, index)) return refutation;
    } else {
        fold.first_hazard = static_cast<std::uint32_t>(set.hazards.size());
        fold.hazard_count = static_cast<std::uint32_t>(found_.size());
        for (const std::uint32_t place : found_)
            set.hazards.push_back(send_[place]);
    }
    forget_overlaps();
    return {};
}

Refutation Overwrites::check(ProgramSet& set) {
    // Action numbers grow from program to program, so what an earlier program waited for is below every send of a later one.
    waited_.assign(static_cast<std::size_t>(set.problem.ranks), 0);
    acknowledged_ = waited_;
    for (std::uint32_t program = 0; program < set.programs(); ++program) {
        begin_.clear();
        end_.clear();
        send_.clear();
        for (std::uint32_t index = set.program_begin[program]; index < set.program_begin[program + 1]; ++index) {
            const Action& action = set.actions[index];
            if (!action.is_send) {
                if (Refutation refutation = check_fold(set, index)) return refutation;
            } else if (action.length > 0) {
                begin_.push_back(action.address);
                end_.push_back(action.address + action.length);
                send_.push_back(index);
            }
        }
    }
    return {};
}

}  // namespace attune::collectives::verify
