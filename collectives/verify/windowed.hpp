// The windowed model: between two ranks and on a channel one fragment is in flight, every message has three. A multicast fragment is staged for
// all its peers at once and freed when all have read it; a fold takes fragment f of all its messages together. Larger windows only
// remove waits.
#pragma once

#include "collectives/verify/checks.hpp"
#include "collectives/verify/program_set.hpp"

#include <cstdint>
#include <vector>

namespace attune::collectives::verify {

class Windowed {
public:
    // Needs a matched set whose overwrites are listed. Refutes deadlock.
    Refutation run(const ProgramSet& set);

private:
    static constexpr std::uint8_t fragments = 3;

    struct Send {
        std::uint32_t blocked = 0;  // peers whose lane still carries an earlier message
        std::uint32_t unread = 0;   // peers that have not read the fragment in flight
        std::uint8_t staged = 0;    // fragments
        bool issued = false;
    };
    struct Fold {
        std::uint32_t missing = 0;  // messages whose current fragment is not there yet
        std::uint8_t taken = 0;     // fragments
    };

    void start(const ProgramSet& set);
    void advance(const ProgramSet& set, std::uint32_t program);
    bool hazards_over(const ProgramSet& set, std::uint32_t fold);
    bool take_fragments(const ProgramSet& set, std::uint32_t fold);
    void read(const ProgramSet& set, std::uint32_t message);
    void stage(const ProgramSet& set, std::uint32_t send);
    void leave_lanes(const ProgramSet& set, std::uint32_t send);
    void wake(std::uint32_t program);
    Refutation stuck(const ProgramSet& set) const;

    std::vector<Send> sends_;           // per action
    std::vector<Fold> folds_;           // per action
    std::vector<std::uint32_t> next_;   // per program: action
    std::vector<std::uint8_t> queued_;  // per program: stands in ready_
    std::vector<std::uint32_t> ready_;
};

}  // namespace attune::collectives::verify
