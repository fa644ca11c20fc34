#include "collectives/verify/walk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace attune::collectives::verify {

namespace {

std::uint32_t first_undefined(const Cell* cells, std::uint32_t length) noexcept {
    std::uint32_t missing = 0;  // counted first: this loop is vectorized and nearly always finds nothing
    for (std::uint32_t i = 0; i < length; ++i)
        missing += cells[i] == undefined ? 1 : 0;
    if (missing == 0) return none;
    return static_cast<std::uint32_t>(std::find(cells, cells + length, undefined) - cells);
}

}  // namespace

void Walk::start(const ProgramSet& set, bool with_data) {
    with_data_ = with_data;
    states_.assign(set.programs(), {});
    ready_.clear();
    for (std::uint32_t program = set.programs(); program-- > 0;) {
        states_[program].next = set.program_begin[program];
        ready_.push_back(program);
    }
    issued_.assign(set.messages.size(), 0);
    unread_.resize(set.actions.size());
    words_ = 0;
    if (set.problem.collective == Collective::barrier && with_data) {
        words_ = (static_cast<std::size_t>(set.problem.ranks) + 63) / 64;
        known_.assign(set.programs() * words_, 0);
        told_.assign(set.messages.size() * words_, 0);
        for (std::uint32_t program = 0; program < set.programs(); ++program) {
            const auto rank = static_cast<std::size_t>(set.rank_of(program));
            known_[program * words_ + rank / 64] |= std::uint64_t{1} << (rank % 64);
        }
    }
}

void Walk::define_inputs(const ProgramSet& set, const Trees& trees) {
    base_.clear();
    std::uint64_t total = 0;
    for (const Layout& layout : set.layouts) {
        base_.push_back(total);
        total += layout.total;
    }
    cells_.assign(total, undefined);
    const Problem& problem = set.problem;
    for (Rank rank = 0; rank < problem.ranks; ++rank) {
        const std::uint64_t at = problem.in_place ? in_place_input_offset(problem, rank) : 0;
        Cell* input = cells_.data() + base_[static_cast<std::size_t>(rank)] + at;
        const std::uint64_t elements = problem.input_elements(rank);
        for (std::uint32_t element = 0; element < elements; ++element)
            input[element] = cell_of(trees.leaf(rank), element);
    }
}

Refutation Walk::run(const ProgramSet& set, Trees& trees) {
    trees.reset(set.problem.ranks);
    define_inputs(set, trees);
    start(set, true);
    waits_for_readers_ = true;
    if (Refutation refutation = run_ready(set, trees)) return refutation;
    return stuck(set) ? deadlock(set, trees) : Refutation{};
}

Refutation Walk::run_ready(const ProgramSet& set, Trees& trees) {
    while (!ready_.empty()) {
        const std::uint32_t program = ready_.back();
        ready_.pop_back();
        if (Refutation refutation = advance(set, trees, program)) return refutation;
    }
    return {};
}

Refutation Walk::advance(const ProgramSet& set, Trees& trees, std::uint32_t program) {
    State& state = states_[program];
    const std::uint32_t end = set.program_begin[program + 1];
    for (; state.next < end; ++state.next) {
        const Action& action = set.actions[state.next];
        if (action.is_send) {
            if (Refutation refutation = issue(set, action)) return refutation;
            continue;
        }
        if (!fold_is_ready(set, action, state)) return {};
        state.cursor = 0;
        if (with_data_) {
            if (Refutation refutation = execute(set, trees, action)) return refutation;
        }
        release(set, action);
    }
    return {};
}

Refutation Walk::issue(const ProgramSet& set, const Action& send) {
    if (with_data_) {
        const std::uint32_t missing = first_undefined(cells(set, send, send.address), send.length);
        if (missing != none) return fmt::format("{} reads element {} of its slice before it is written", set.where(send), missing);
    }
    unread_[&send - set.actions.data()] = send.count;
    for (std::uint32_t message = send.first; message < send.first + send.count; ++message) {
        issued_[message] = 1;
        if (words_ > 0) std::copy_n(&known_[send.program * words_], words_, &told_[message * words_]);
        const std::uint32_t reader = set.actions[set.messages[message].reader].program;
        if (states_[reader].waits_message == message) {
            states_[reader].waits_message = none;
            ready_.push_back(reader);
        }
    }
    return {};
}

bool Walk::fold_is_ready(const ProgramSet& set, const Action& fold, State& state) const {
    for (; state.cursor < fold.count; ++state.cursor) {
        const std::uint32_t message = set.sources[fold.first + state.cursor].message;
        if (message == none || issued_[message] != 0) continue;
        state.waits_message = message;
        return false;
    }
    for (; waits_for_readers_ && state.cursor < fold.count + fold.hazard_count; ++state.cursor) {
        const std::uint32_t send = set.hazards[fold.first_hazard + state.cursor - fold.count];
        if (unread_[send] == 0) continue;
        state.waits_send = send;
        return false;
    }
    return true;
}

Refutation Walk::locate(const ProgramSet& set, const Action& fold, std::string_view what, std::uint32_t element) const {
    return fmt::format("{} {} at element {} of its slice", set.where(fold), what, element);
}

Refutation Walk::execute(const ProgramSet& set, Trees& trees, const Action& fold) {
    if (words_ > 0) learn(set, fold);
    if (fold.length == 0) return {};
    operands_.clear();
    for (std::uint32_t i = fold.first; i < fold.first + fold.count; ++i) {
        const Source& source = set.sources[i];
        if (source.peer >= 0) {
            const Action& sender = set.actions[set.messages[source.message].sender];
            operands_.push_back(cells(set, sender, sender.address));
            continue;
        }
        operands_.push_back(cells(set, fold, source.address));
        const std::uint32_t missing = first_undefined(operands_.back(), fold.length);
        if (missing != none) return locate(set, fold, "reads what is not written yet", missing);
    }
    if (fold.count > 1 || fold.scale) return fold_cells(set, trees, fold);
    Cell* target = cells(set, fold, fold.address);
    if (target != operands_[0]) std::memcpy(target, operands_[0], fold.length * sizeof(Cell));
    return {};
}

// Neighboring elements nearly always combine the same trees, so the tree of the element before is tried first.
Refutation Walk::fold_cells(const ProgramSet& set, Trees& trees, const Action& fold) {
    Cell* target = cells(set, fold, fold.address);
    trees_.assign(operands_.size(), none);
    Tree result = none;
    for (std::uint32_t element = 0; element < fold.length; ++element) {
        const std::uint32_t index = element_of(operands_[0][element]);
        bool same = true;
        for (std::size_t i = 0; i < operands_.size(); ++i) {
            const Cell cell = operands_[i][element];
            if (element_of(cell) != index) return locate(set, fold, "combines different elements", element);
            same = same && tree_of(cell) == trees_[i];
            trees_[i] = tree_of(cell);
        }
        if (!same) {
            if (operands_.size() == 1) {
                result = trees.scaled(trees_[0]);
            } else {
                result = fold.scale ? trees.fold_scaled(trees_) : trees.fold(trees_);
            }
        }
        target[element] = cell_of(result, index);
    }
    return {};
}

void Walk::learn(const ProgramSet& set, const Action& fold) {
    for (std::uint32_t i = fold.first; i < fold.first + fold.count; ++i) {
        if (set.sources[i].peer < 0) continue;
        for (std::size_t word = 0; word < words_; ++word)
            known_[fold.program * words_ + word] |= told_[set.sources[i].message * words_ + word];
    }
}

void Walk::release(const ProgramSet& set, const Action& fold) {
    for (std::uint32_t i = fold.first; i < fold.first + fold.count; ++i) {
        if (set.sources[i].peer < 0) continue;
        const std::uint32_t send = set.messages[set.sources[i].message].sender;
        if (--unread_[send] > 0) continue;
        const std::uint32_t program = set.actions[send].program;
        if (states_[program].waits_send != send) continue;
        states_[program].waits_send = none;
        ready_.push_back(program);
    }
}

Refutation Walk::stuck(const ProgramSet& set) const {
    for (std::uint32_t program = 0; program < set.programs(); ++program) {
        const State& state = states_[program];
        if (state.next == set.program_begin[program + 1]) continue;
        const std::string where = set.where(set.actions[state.next]);
        if (state.waits_message == none) return fmt::format("{} waits until {} is read", where, set.where(set.actions[state.waits_send]));
        return fmt::format("{} waits for {}", where, set.where(set.actions[set.messages[state.waits_message].sender]));
    }
    return {};
}

Refutation Walk::deadlock(const ProgramSet& set, Trees& trees) {
    const std::string rendezvous = *stuck(set);
    waits_for_readers_ = false;
    start(set, false);
    run_ready(set, trees);
    if (const Refutation buffered = stuck(set)) return "deadlock even when sends are buffered: " + *buffered;
    return "deadlock under rendezvous: " + rendezvous;
}

Refutation Walk::check_result(const ProgramSet& set, const Trees& trees) const {
    if (set.problem.collective == Collective::barrier) return check_barrier(set);
    for (Rank rank = 0; rank < set.problem.ranks; ++rank) {
        if (Refutation refutation = check_rank(set, trees, rank)) return refutation;
    }
    return {};
}

Refutation Walk::check_rank(const ProgramSet& set, const Trees& trees, Rank rank) const {
    const Problem& problem = set.problem;
    const std::uint64_t at = problem.in_place ? in_place_output_offset(problem, rank) : set.layouts[static_cast<std::size_t>(rank)].base[1];
    const Cell* output = cells_.data() + base_[static_cast<std::size_t>(rank)] + at;
    std::uint64_t end = 0;  // of what is checked
    for (const Promise& promise : promises_of(problem, rank)) {
        if (Refutation refutation = check_untouched(set, rank, at + end, at + promise.first)) return refutation;
        for (std::uint64_t element = promise.first; element < promise.first + promise.length; ++element) {
            if (Refutation refutation = check_cell(trees, {problem, promise, rank, element, output[element]})) return refutation;
        }
        end = promise.first + promise.length;
    }
    if (Refutation refutation = check_untouched(set, rank, at + end, set.layouts[static_cast<std::size_t>(rank)].base[2])) return refutation;
    if (Refutation refutation = problem.in_place ? check_untouched(set, rank, 0, at) : Refutation{}) return refutation;
    return problem.collective == Collective::all_reduce ? check_agreement(set, trees, rank) : Refutation{};
}

Refutation Walk::check_agreement(const ProgramSet& set, const Trees& trees, Rank rank) const {
    const auto output_of = [&](Rank of) {
        const std::uint64_t at = set.problem.in_place ? 0 : set.layouts[static_cast<std::size_t>(of)].base[1];
        return cells_.data() + base_[static_cast<std::size_t>(of)] + at;
    };
    const Cell* first = output_of(0);
    const Cell* output = output_of(rank);
    for (std::uint64_t element = 0; element < set.problem.count; ++element) {
        if (first[element] == output[element]) continue;
        return fmt::format("rank {} output element {} is {}, but {} on rank 0: their bits may differ", rank, element, trees.describe(tree_of(output[element])),
                           trees.describe(tree_of(first[element])));
    }
    return {};
}

// What no result lies in still holds what it held at the start.
Refutation Walk::check_untouched(const ProgramSet& set, Rank rank, std::uint64_t begin, std::uint64_t end) const {
    const Problem& problem = set.problem;
    const Cell* user = cells_.data() + base_[static_cast<std::size_t>(rank)];
    const std::uint64_t input = problem.in_place ? in_place_input_offset(problem, rank) : 0;
    const std::uint64_t inputs = begin < end ? problem.input_elements(rank) : 0;
    for (std::uint64_t element = begin; element < end; ++element) {
        const bool is_input = element >= input && element - input < inputs;
        const Cell before = is_input ? cell_of(static_cast<Tree>(rank), static_cast<std::uint32_t>(element - input)) : undefined;
        if (user[element] != before) return fmt::format("rank {} writes element {} of its buffers, which is no result", rank, element);
    }
    return {};
}

Refutation Walk::check_cell(const Trees& trees, const Result& result) {
    const auto& [problem, promise, rank, element, cell] = result;
    if (cell == undefined) return fmt::format("rank {} output element {} is never written", rank, element);
    const std::uint64_t wanted = promise.element + element - promise.first;
    const Tree tree = tree_of(cell);
    if (element_of(cell) == wanted && keeps(trees, problem, promise, tree)) return {};
    return fmt::format("rank {} output element {} holds {} of input element {}, not {} of {}", rank, element, trees.describe(tree), element_of(cell),
                       describe(trees, problem, promise), wanted);
}

Refutation Walk::check_barrier(const ProgramSet& set) const {
    std::vector<std::uint64_t> known(words_);
    for (Rank rank = 0; rank < set.problem.ranks; ++rank) {
        std::fill(known.begin(), known.end(), 0);
        for (int channel = 0; channel < set.channels; ++channel) {
            for (std::size_t word = 0; word < words_; ++word)
                known[word] |= known_[set.program_of(rank, channel) * words_ + word];
        }
        for (Rank other = 0; other < set.problem.ranks; ++other) {
            const auto bit = static_cast<std::size_t>(other);
            if ((known[bit / 64] >> (bit % 64) & 1) == 0) return fmt::format("rank {} may end before rank {} starts", rank, other);
        }
    }
    return {};
}

}  // namespace attune::collectives::verify
