#include "collectives/problem.hpp"

#include "collectives/amounts.hpp"
#include "libcore/error.hpp"
#include "libcore/text.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

namespace attune::collectives {

namespace {

enum class Holds : std::uint8_t { block, blocks, amounts };  // `blocks` = one per rank

// Place in the table = value of the enumeration.
struct Form {
    Collective collective;
    std::string_view name;
    Holds input, output;
    bool input_at_root = false, output_at_root = false;  // only the root passes it
    bool reduces = false;
    bool in_place = true;
};

using enum Collective;
constexpr std::array forms = {
    Form{.collective = all_reduce, .name = "all_reduce", .input = Holds::block, .output = Holds::block, .reduces = true},
    Form{.collective = all_gather, .name = "all_gather", .input = Holds::block, .output = Holds::blocks},
    Form{.collective = reduce_scatter, .name = "reduce_scatter", .input = Holds::blocks, .output = Holds::block, .reduces = true},
    Form{.collective = broadcast, .name = "broadcast", .input = Holds::block, .output = Holds::block, .input_at_root = true},
    Form{.collective = reduce, .name = "reduce", .input = Holds::block, .output = Holds::block, .output_at_root = true, .reduces = true},
    Form{.collective = gather, .name = "gather", .input = Holds::block, .output = Holds::blocks, .output_at_root = true},
    Form{.collective = scatter, .name = "scatter", .input = Holds::blocks, .output = Holds::block, .input_at_root = true},
    Form{.collective = all_to_all, .name = "all_to_all", .input = Holds::blocks, .output = Holds::blocks},
    Form{.collective = barrier, .name = "barrier", .input = Holds::block, .output = Holds::block},
    Form{.collective = scan, .name = "scan", .input = Holds::block, .output = Holds::block, .reduces = true},
    Form{.collective = exscan, .name = "exscan", .input = Holds::block, .output = Holds::block, .reduces = true},
    Form{.collective = all_gather_v, .name = "all_gather_v", .input = Holds::amounts, .output = Holds::amounts},
    Form{.collective = reduce_scatter_v, .name = "reduce_scatter_v", .input = Holds::amounts, .output = Holds::amounts, .reduces = true},
    Form{.collective = gather_v, .name = "gather_v", .input = Holds::amounts, .output = Holds::amounts, .output_at_root = true, .in_place = false},
    Form{.collective = scatter_v, .name = "scatter_v", .input = Holds::amounts, .output = Holds::amounts, .input_at_root = true, .in_place = false},
    Form{.collective = all_to_all_v, .name = "all_to_all_v", .input = Holds::amounts, .output = Holds::amounts, .in_place = false},
    Form{.collective = send_recv, .name = "send_recv", .input = Holds::amounts, .output = Holds::amounts, .in_place = false},
    Form{.collective = batch_send_recv, .name = "batch_send_recv", .input = Holds::amounts, .output = Holds::amounts, .in_place = false},
};

constexpr std::size_t number(Collective collective) {
    return static_cast<std::size_t>(collective);
}
constexpr auto collectives_list = [] {
    std::array<Collective, forms.size()> list{};
    for (std::size_t i = 0; i < forms.size(); ++i)
        list[i] = static_cast<Collective>(i);
    return list;
}();
constexpr bool in_order = [] {
    for (std::size_t i = 0; i < forms.size(); ++i)
        if (number(forms[i].collective) != i) return false;
    return true;
}();
static_assert(in_order && number(batch_send_recv) + 1 == forms.size());

const Form& form_of(Collective collective) noexcept {
    return forms[number(collective)];
}

std::uint64_t elements(const Problem& problem, Holds holds) noexcept {
    return holds == Holds::blocks ? problem.count * static_cast<std::uint64_t>(problem.ranks) : problem.count;
}

}  // namespace

std::string_view name_of(Collective collective) noexcept {
    return form_of(collective).name;
}

Collective parse_collective(std::string_view text) {
    std::vector<std::string> known;
    for (const Form& form : forms)
        known.emplace_back(form.name);
    const std::string word = core::require_word("collective", text, known);
    return std::ranges::find(forms, word, &Form::name)->collective;
}

std::span<const Collective> all_collectives() noexcept {
    return collectives_list;
}
bool is_rooted(Collective collective) noexcept {
    return form_of(collective).input_at_root || form_of(collective).output_at_root;
}
bool reduces(Collective collective) noexcept {
    return form_of(collective).reduces;
}
bool has_amounts(Collective collective) noexcept {
    return form_of(collective).input == Holds::amounts;
}
bool has_blocks(Collective collective) noexcept {
    return form_of(collective).input == Holds::blocks || form_of(collective).output == Holds::blocks;
}
bool has_in_place(Collective collective) noexcept {
    return form_of(collective).in_place;
}
bool can_average(Collective collective) noexcept {
    return form_of(collective).reduces && collective != scan && collective != exscan;
}
bool in_place_is_input(Collective collective) noexcept {
    return collective == reduce_scatter || collective == scatter || collective == reduce_scatter_v;
}

std::uint64_t Problem::input_elements() const noexcept {
    const Form& form = form_of(collective);
    return form.input == Holds::amounts ? amounts_total(*this, Side::input).extent : elements(*this, form.input);
}
std::uint64_t Problem::output_elements() const noexcept {
    const Form& form = form_of(collective);
    return form.output == Holds::amounts ? amounts_total(*this, Side::output).extent : elements(*this, form.output);
}

std::uint64_t Problem::input_elements(Rank rank) const {
    const Form& form = form_of(collective);
    if (form.input_at_root && rank != root) return 0;
    return form.input == Holds::amounts ? amounts_of(*this, rank, Side::input) : elements(*this, form.input);
}
std::uint64_t Problem::output_elements(Rank rank) const {
    const Form& form = form_of(collective);
    if (form.output_at_root && rank != root) return 0;
    return form.output == Holds::amounts ? amounts_of(*this, rank, Side::output) : elements(*this, form.output);
}
std::uint64_t Problem::in_place_elements() const noexcept {
    return std::max(input_elements(), output_elements());
}

std::uint64_t Problem::bytes() const noexcept {
    if (!has_amounts(collective)) return in_place_elements() * core::size_of(dtype);
    return std::max(amounts_total(*this, Side::input).sum, amounts_total(*this, Side::output).sum) * core::size_of(dtype);
}

std::uint64_t Problem::key_bytes() const noexcept {
    const bool is_private = collective == gather_v || collective == scatter_v || collective == all_to_all_v || collective == batch_send_recv;
    if (is_private) return 0;
    return collective == send_recv ? count * core::size_of(dtype) : bytes();
}

bool operator==(const Problem& a, const Problem& b) noexcept {
    const auto plain = [](const Problem& p) { return std::tie(p.collective, p.ranks, p.count, p.dtype, p.op, p.root, p.in_place, p.node_map); };
    if (plain(a) != plain(b)) return false;
    return a.amounts == b.amounts || (a.amounts && b.amounts && *a.amounts == *b.amounts);
}

std::uint64_t in_place_input_offset(const Problem& problem, Rank rank) noexcept {
    if (problem.collective == all_gather_v) return block_offset(problem.amounts->receive, problem.amounts->receive_offsets, rank);
    const bool own_block = problem.collective == all_gather || problem.collective == gather;
    return own_block ? problem.count * static_cast<std::uint64_t>(rank) : 0;
}
std::uint64_t in_place_output_offset(const Problem& problem, Rank rank) noexcept {
    if (problem.collective == reduce_scatter_v) return block_offset(problem.amounts->send, problem.amounts->send_offsets, rank);
    const bool own_block = problem.collective == reduce_scatter || problem.collective == scatter;
    return own_block ? problem.count * static_cast<std::uint64_t>(rank) : 0;
}

bool averages(const Problem& problem) noexcept {
    return problem.ranks > 1 && problem.op == core::Op::avg && can_average(problem.collective);
}

}  // namespace attune::collectives
