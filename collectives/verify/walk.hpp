// Runs all programs once, symbolically. Where reading and writing is concerned a send is over when its receiver has read it (rendezvous), so a
// message is read straight from the sender's slice. Waits only shrink when sends are buffered, or put into a posted slice: whoever gets
// through here gets through there.
#pragma once

#include "collectives/verify/checks.hpp"
#include "collectives/verify/postcondition.hpp"
#include "collectives/verify/program_set.hpp"
#include "collectives/verify/trees.hpp"

#include <cstdint>
#include <vector>

namespace attune::collectives::verify {

// What one element holds: nothing, or a tree over the contributions to one element of the input.
using Cell = std::uint64_t;
inline constexpr Cell undefined = 0;
inline Cell cell_of(Tree tree, std::uint32_t element) noexcept {
    return (Cell{tree} + 1) << 32 | element;
}
inline Tree tree_of(Cell cell) noexcept {
    return static_cast<Tree>((cell >> 32) - 1);
}
inline std::uint32_t element_of(Cell cell) noexcept {
    return static_cast<std::uint32_t>(cell);
}

class Walk {
public:
    // Needs a matched set whose overwrites are listed. Refutes reads of undefined elements, folds of different elements, and deadlock under
    // rendezvous or buffered sends.
    Refutation run(const ProgramSet& set, Trees& trees);
    // After run(): every output element is what the problem asks for, everything else is as it was, and equal trees where several ranks must agree. For a
    // barrier: every rank's end comes after every rank's start.
    Refutation check_result(const ProgramSet& set, const Trees& trees) const;

private:
    struct State {
        std::uint32_t next = 0;    // action
        std::uint32_t cursor = 0;  // sources, then hazards of the current fold that are there
        std::uint32_t waits_message = none, waits_send = none;
    };

    void start(const ProgramSet& set, bool with_data);
    void define_inputs(const ProgramSet& set, const Trees& trees);
    Refutation run_ready(const ProgramSet& set, Trees& trees);
    Refutation advance(const ProgramSet& set, Trees& trees, std::uint32_t program);
    Refutation issue(const ProgramSet& set, const Action& send);
    bool fold_is_ready(const ProgramSet& set, const Action& fold, State& state) const;
    Refutation execute(const ProgramSet& set, Trees& trees, const Action& fold);
    Refutation fold_cells(const ProgramSet& set, Trees& trees, const Action& fold);
    Refutation locate(const ProgramSet& set, const Action& fold, std::string_view what, std::uint32_t element) const;
    void release(const ProgramSet& set, const Action& fold);
    void learn(const ProgramSet& set, const Action& fold);
    Refutation stuck(const ProgramSet& set) const;
    Refutation deadlock(const ProgramSet& set, Trees& trees);
    Cell* cells(const ProgramSet& set, const Action& action, std::uint32_t address) noexcept {
        return cells_.data() + base_[static_cast<std::size_t>(set.rank_of(action))] + address;
    }
    struct Result {
        const Problem& problem;
        const Promise& promise;
        Rank rank;
        std::uint64_t element;
        Cell cell;
    };
    Refutation check_rank(const ProgramSet& set, const Trees& trees, Rank rank) const;
    Refutation check_agreement(const ProgramSet& set, const Trees& trees, Rank rank) const;
    Refutation check_untouched(const ProgramSet& set, Rank rank, std::uint64_t begin, std::uint64_t end) const;
    static Refutation check_cell(const Trees& trees, const Result& result);
    Refutation check_barrier(const ProgramSet& set) const;

    std::vector<Cell> cells_;
    std::vector<std::uint64_t> base_;    // of each rank in cells_
    std::vector<State> states_;          // per program
    std::vector<std::uint32_t> ready_;   // programs to look at
    std::vector<std::uint8_t> issued_;   // per message
    std::vector<std::uint32_t> unread_;  // per action: messages of the send not read yet
    std::vector<const Cell*> operands_;
    std::vector<Tree> trees_;
    bool with_data_ = true;
    bool waits_for_readers_ = true;
    std::vector<std::uint64_t> known_;  // barrier: per program, the ranks whose start it knows of
    std::vector<std::uint64_t> told_;   // barrier: per message
    std::size_t words_ = 0;
};

}  // namespace attune::collectives::verify
