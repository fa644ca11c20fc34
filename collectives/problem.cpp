#include "collectives/problem.hpp"

#include "libcore/error.hpp"
#include "libcore/text.hpp"

#include <algorithm>
#include <array>

namespace attune::collectives {

namespace {

constexpr std::array collectives_list = {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter, Collective::broadcast,
                                         Collective::barrier};
constexpr std::array<std::string_view, 5> names = {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "barrier"};

}  // namespace

std::string_view name_of(Collective collective) noexcept {
    return names[static_cast<std::size_t>(collective)];
}

Collective parse_collective(std::string_view text) {
    const std::vector<std::string> known(names.begin(), names.end());
    const std::string word = core::require_word("collective", text, known);
    return collectives_list[static_cast<std::size_t>(std::ranges::find(known, word) - known.begin())];
}

std::span<const Collective> all_collectives() noexcept {
    return collectives_list;
}

bool is_rooted(Collective collective) noexcept {
    return collective == Collective::broadcast;
}

bool reduces(Collective collective) noexcept {
    return collective == Collective::all_reduce || collective == Collective::reduce_scatter;
}

std::uint64_t Problem::input_elements() const noexcept {
    return collective == Collective::reduce_scatter ? count * static_cast<std::uint64_t>(ranks) : count;
}

std::uint64_t Problem::output_elements() const noexcept {
    return collective == Collective::all_gather ? count * static_cast<std::uint64_t>(ranks) : count;
}

std::uint64_t Problem::bytes() const noexcept {
    return std::max(input_elements(), output_elements()) * core::size_of(dtype);
}

std::uint64_t in_place_input_offset(const Problem& problem, int rank) noexcept {
    return problem.collective == Collective::all_gather ? problem.count * static_cast<std::uint64_t>(rank) : 0;
}

std::uint64_t in_place_output_offset(const Problem& problem, int rank) noexcept {
    return problem.collective == Collective::reduce_scatter ? problem.count * static_cast<std::uint64_t>(rank) : 0;
}

}  // namespace attune::collectives
