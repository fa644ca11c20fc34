// Proves an algorithm over ranks, roots, counts, segments, channels, in and out of place, as authored and as compiled.
#pragma once

#include "collectives/catalogue.hpp"
#include "collectives/verifier.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace attune::collectives {

struct SweepOptions {
    std::vector<int> ranks;
    std::function<std::vector<int>(int ranks)> roots;  // of rooted collectives; the others have root 0
    core::Config pinned;                               // segment_bytes, channels, protocol and inline_bytes fix what would be swept; other axes must apply
    std::function<bool()> stop;                        // asked between proofs; may be empty
};

// One proof: (algorithm, ranks, root, config), the schedules and the plans compiled from them. The config is text such as
// "count=7,in_place=no,segment_elements=3,channels=2"; with amounts "amounts=sparse*7", with nodes "node_map=2,2,1", for averages "op=avg".
struct ProofFailure {
    Collective collective;
    std::string algorithm;
    int ranks = 0;
    int root = 0;
    std::string config;
    std::string reason;  // "schedule: rank 3 step 5 ...", "plan: rank 3 operation 2 ..." or "plan with protocol=cma_put: ..."
};

struct SweepResult {
    std::uint64_t proved = 0;
    std::vector<ProofFailure> failures;
    std::vector<std::string> skipped;  // "3 ranks: needs a power of two of ranks": a constraint not met is an ordinary answer
    bool stopped = false;
};

// A problem of all ranks and what varies in it, as text.
struct SweepProblem {
    Problem problem;
    std::string text;          // "count=7"
    bool known_matrix = true;  // all_to_all_v: generated from the matrix, or from each rank's own row and column
};

// The same shape with the counts, or amounts, and node maps of a sweep; `more` counts are added.
std::vector<SweepProblem> sweep_problems(const Algorithm& algorithm, const Problem& shape, std::span<const std::uint64_t> more = {});

class ProofSweep {
public:
    explicit ProofSweep(SweepOptions options) : options_(std::move(options)) {}
    SweepResult run(const Algorithm& algorithm);

private:
    std::vector<SweepProblem> problems_for(const Algorithm& algorithm, const Problem& shape) const;
    std::vector<Cut> cuts_for(const Algorithm& algorithm, const Problem& problem) const;
    void run_shape(const Algorithm& algorithm, const Problem& shape, SweepResult& result);
    void prove_places(const Algorithm& algorithm, SweepProblem& item, SweepResult& result);
    // What divides is proved with avg besides: the same folds, and one division at the end.
    static std::span<const core::Op> ops_for(Collective collective);
    void prove(const Algorithm& algorithm, const SweepProblem& problem, const Cut& cut, SweepResult& result);
    std::string refute_both(const Algorithm& algorithm, const SweepProblem& problem, const Cut& cut);
    std::vector<Protocol> protocols_for(int ranks) const;
    std::string refute_plans(const Problem& problem, const Algorithm& algorithm, const Cut& cut, Protocol protocol);

    SweepOptions options_;
    Verifier verifier_;
    std::vector<Schedule> schedules_;
    std::vector<Problem> views_;
    std::vector<Plan> plans_;
};

// Counts 0, 1, p - 1, p + 1 and a prime, ascending: the smallest above 6p + 12 where all_reduce and broadcast cut the vector (6 parts of at least p elements),
// else 13. Only 0 for a barrier.
std::vector<std::uint64_t> sweep_counts(Collective collective, int ranks);
// One node, one rank per node, nodes of two, three cyclic nodes, and an irregular map, as far as they differ.
std::vector<std::string> sweep_node_maps(int ranks);
// One segment, and three of which the last is shorter, on one and on two channels; cuts that a count makes equal to another are left out.
std::vector<Cut> sweep_cuts(const Algorithm& algorithm, const Problem& problem);  // with amounts of their longest block

}  // namespace attune::collectives
