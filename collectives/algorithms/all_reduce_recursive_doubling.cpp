// Recursive doubling: in round s partners at distance 2^s exchange whole vectors. With p no power of two, each of the first 2(p - 2^L) ranks of odd
// number folds into its even neighbor before and gets the result after. L(alpha + n beta + n gamma), L = floor(log2 p), plus 2(alpha + n beta) + n gamma
// for the fold (Thakur, Rabenseifner and Gropp 2005, section 4.5).
#include "collectives/algorithms/algorithms.hpp"

namespace attune::collectives::algorithms {

namespace {

// Each fold writes the other of two places, output and scratch, so that it never waits for the send of what it reads. The last one writes output.
struct Doubling {
    Builder builder;
    Slice output, spare, current;
    int folds_left;
    Finish finish;

    Slice next() {
        --folds_left;
        return folds_left % 2 == 0 ? output : spare;
    }
    void fold_with(Rank peer) {
        const Slice target = next();
        builder.recv_reduce(peer, current, target, folds_left == 0 ? finish : Finish::store);
        current = target;
    }
};

void double_among(Doubling& state, const Part& part, int levels, int extra) {
    const bool paired = part.rank < 2 * extra;
    const bool idle = paired && part.rank % 2 == 1;
    const int block = paired ? part.rank / 2 : part.rank - extra;
    for (int level = 0; level < levels; ++level) {
        const int partner = block ^ (1 << level);
        const Rank peer = partner < extra ? 2 * partner : partner + extra;
        if (!idle) {
            state.builder.send(peer, state.current);
            state.fold_with(peer);
        }
        state.builder.end_round();
    }
}

}  // namespace

Program all_reduce_recursive_doubling(const Part& part) {
    const int levels = floor_log2(part.ranks());
    const int extra = part.ranks() - (1 << levels);
    const bool paired = part.rank < 2 * extra;
    const bool odd = part.rank % 2 == 1;
    Doubling state{Builder(part.rank), part.whole(BufferId::output), {}, part.whole(BufferId::input), levels + (paired ? 1 : 0), final_finish(part)};
    state.spare = part.ranks() > 1 ? state.builder.scratch(part.length) : Slice{};
    if (part.problem.in_place) state.current = state.output;
    // In place, an unpaired rank would write what it sends when its first fold lands in output.
    if (part.problem.in_place && !paired && levels % 2 == 1) {
        state.builder.copy(state.output, state.spare);
        state.current = state.spare;
    }
    if (part.ranks() == 1) copy_own(state.builder, part, state.current, state.output);
    state.builder.end_round();
    if (paired && odd) state.builder.send(part.rank - 1, state.current);
    if (paired && !odd) state.fold_with(part.rank + 1);
    state.builder.end_round();
    double_among(state, part, levels, extra);
    if (paired && odd) state.builder.recv(part.rank - 1, state.output);
    if (paired && !odd) state.builder.send(part.rank + 1, state.output);
    state.builder.end_round();
    return state.builder.finish();
}

}  // namespace attune::collectives::algorithms
