// Every small change to every step of a schedule, and to every operation of a plan: what a verifier must notice.
#pragma once

#include "collectives/catalogue.hpp"
#include "collectives/plan.hpp"
#include "collectives/schedule.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace attune::test {

template <typename Program>
struct Mutant {
    std::string where;  // "step 3 (recv 1 output[0,4) ch0)"
    std::string what;   // "peer + 1"
    Program program;
};

// Peer, offsets and length one off, dropped, repeated, exchanged with the next, on another channel, other operand. Changes of a fold's slice are made on one
// of its steps, and on all of them together.
std::vector<Mutant<collectives::Schedule>> mutants_of(const collectives::Schedule& schedule, int ranks);
// The same on operations, and each hazard and each peer of a multicast left out. Indices stay consistent, so that what is wrong is the meaning.
std::vector<Mutant<collectives::Plan>> mutants_of(const collectives::Plan& plan);

struct MutationReport {
    std::uint64_t mutants = 0;     // those that change the dependency graph
    std::uint64_t equivalent = 0;  // left out: the same graph
    std::uint64_t refused = 0;
    // "all_gather bruck: length + 1" -> how many, and one of them in full.
    struct Survivors {
        std::uint64_t count = 0;
        std::string example;
    };
    std::map<std::string, Survivors> survivors;

    MutationReport& operator+=(const MutationReport& other);
};

// Mutates each rank's schedule and plan in turn and lets the verifier judge the whole set.
MutationReport mutate(const collectives::Problem& problem, const collectives::Algorithm& algorithm, const collectives::Cut& cut);

// Mutates each rank's plan, compiled with these options (protocols that put know all schedules), and nothing else.
MutationReport mutate_plans(const collectives::Problem& problem, const collectives::Algorithm& algorithm, const collectives::Cut& cut,
                            const collectives::CompileOptions& options);

}  // namespace attune::test
