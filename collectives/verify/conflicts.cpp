#include "collectives/verify/checks.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace attune::collectives::verify {

namespace {

void add_bit(std::vector<std::uint8_t>& bits, std::uint32_t address, std::uint32_t length, std::uint8_t bit) {
    for (std::uint32_t element = address; element < address + length; ++element)
        bits[element] |= bit;
}

bool touches(const ProgramSet& set, const Action& action, std::uint32_t element) {
    const auto covers = [&](std::uint32_t address) { return element >= address && element - address < action.length; };
    if (covers(action.address)) return true;
    if (action.is_send) return false;
    return std::any_of(set.sources.begin() + action.first, set.sources.begin() + action.first + action.count,
                       [&](const Source& source) { return source.peer < 0 && covers(source.address); });
}

std::string explain(const ProgramSet& set, Rank rank, std::uint32_t element) {
    std::string text = fmt::format("rank {} has channels that conflict at element address {}:", rank, element);
    for (int channel = 0; channel < set.channels; ++channel) {
        const std::uint32_t program = set.program_of(rank, channel);
        for (std::uint32_t index = set.program_begin[program]; index < set.program_begin[program + 1]; ++index) {
            if (!touches(set, set.actions[index], element)) continue;
            text += " " + set.where(set.actions[index]);
            break;
        }
    }
    return text;
}

}  // namespace

bool ChannelConflicts::mark(const ProgramSet& set, Rank rank) {
    int active = 0;
    for (int channel = 0; channel < set.channels; ++channel) {
        const std::uint32_t program = set.program_of(rank, channel);
        const auto bit = static_cast<std::uint8_t>(1 << channel);
        active += set.program_begin[program] < set.program_begin[program + 1] ? 1 : 0;
        for (std::uint32_t index = set.program_begin[program]; index < set.program_begin[program + 1]; ++index) {
            const Action& action = set.actions[index];
            add_bit(action.is_send ? reads_ : writes_, action.address, action.length, bit);
            for (std::uint32_t i = action.first; !action.is_send && i < action.first + action.count; ++i) {
                if (set.sources[i].peer < 0) add_bit(reads_, set.sources[i].address, action.length, bit);
            }
        }
    }
    return active > 1;
}

Refutation ChannelConflicts::check(const ProgramSet& set) {
    if (set.channels == 1) return {};
    for (Rank rank = 0; rank < set.problem.ranks; ++rank) {
        const std::size_t elements = set.layouts[static_cast<std::size_t>(rank)].total;
        reads_.assign(elements, 0);
        writes_.assign(elements, 0);
        if (!mark(set, rank)) continue;
        for (std::size_t element = 0; element < elements; ++element) {
            const unsigned writers = writes_[element];
            const unsigned all = writers | reads_[element];
            if (writers != 0 && (all & (all - 1)) != 0) return explain(set, rank, static_cast<std::uint32_t>(element));
        }
    }
    return {};
}

}  // namespace attune::collectives::verify
