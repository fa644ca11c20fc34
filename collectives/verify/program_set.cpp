#include "collectives/verify/program_set.hpp"

#include "libcore/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace attune::collectives::verify {

namespace {

constexpr std::uint64_t max_elements = std::uint64_t{1} << 26;

std::string operation_text(const Plan& plan, const Operation& operation) {
    constexpr std::array names = {"input", "output", "scratch", "?"};
    std::string peers;
    if (operation.kind == OperationKind::send) {
        for (std::uint32_t i = 0; i < operation.peer_count; ++i)
            peers += fmt::format(" {}", plan.peers[operation.first_peer + i]);
    } else {
        for (std::uint32_t i = 0; i < operation.source_count; ++i) {
            const collectives::Source& source = plan.sources[operation.first_source + i];
            if (source.message) peers += fmt::format(" {}", source.peer);
        }
    }
    const auto memory = std::min<std::size_t>(static_cast<std::size_t>(operation.memory), 3);
    return fmt::format("{}{} {} bytes [{},{}) ch{}", operation.kind == OperationKind::send ? "send" : "fold", peers, names[memory], operation.offset,
                       operation.offset + operation.length, operation.channel);
}

}  // namespace

void ProgramSet::clear() {
    layouts.clear();
    actions.clear();
    program_begin.clear();
    messages.clear();
    sources.clear();
    hazards.clear();
    schedules = {};
    plans = {};
}

std::string ProgramSet::where(const Action& action) const {
    const auto rank = static_cast<std::size_t>(rank_of(action));
    if (!schedules.empty()) return fmt::format("rank {} step {} ({})", rank, action.origin, describe(schedules[rank].steps[action.origin]));
    return fmt::format("rank {} operation {} ({})", rank, action.origin, operation_text(plans[rank], plans[rank].operations[action.origin]));
}

Refutation check_problem(const Problem& problem, std::size_t programs) {
    if (problem.ranks < 1 || programs != static_cast<std::size_t>(problem.ranks))
        return fmt::format("{} ranks need as many programs, not {}", problem.ranks, programs);
    if (is_rooted(problem.collective) && (problem.root < 0 || problem.root >= problem.ranks))
        return fmt::format("root {} is not one of {} ranks", problem.root, problem.ranks);
    if (problem.count > max_elements / static_cast<std::uint64_t>(problem.ranks)) {
        throw core::Error(core::ErrorCode::usage, fmt::format("count {} on {} ranks is more than the 2^26 elements the verifier can hold; use a smaller count",
                                                              problem.count, problem.ranks));
    }
    return {};
}

void check_size(const ProgramSet& set) {
    std::uint64_t elements = 0;
    for (const Layout& layout : set.layouts) {
        elements += std::min(layout.total, max_elements + 1);
        if (elements > max_elements) {
            throw core::Error(
                core::ErrorCode::usage,
                fmt::format("the buffers of {} ranks hold more than the 2^26 elements the verifier can hold; use a smaller count", set.problem.ranks));
        }
    }
}

Refutation check_peer(const ProgramSet& set, Rank rank, Rank peer, std::string_view what) {
    if (peer >= 0 && peer < set.problem.ranks && peer != rank) return {};
    return fmt::format("{} names peer {} of {} ranks", what, peer, set.problem.ranks);
}

}  // namespace attune::collectives::verify
