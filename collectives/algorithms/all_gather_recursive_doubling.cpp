// Recursive doubling: in round s partners at distance 2^s exchange all blocks they hold. With p no power of two, the first 2(p - 2^L) ranks pair up: the odd
// one gives its block to the even one before and gets all blocks after. L alpha + (p-1)/p n beta, L = floor(log2 p), plus 2 alpha + n beta for the pairs
// (Thakur, Rabenseifner and Gropp 2005, section 4.1).
#include "collectives/algorithms/algorithms.hpp"

namespace attune::collectives::algorithms {

namespace {

// Ranks [first, first + many), the blocks of `groups` consecutive block ranks: the first `extra` block ranks hold two blocks each.
struct Run {
    Rank first;
    int many;
};

Rank first_rank(int block, int extra) {
    return block < extra ? 2 * block : block + extra;
}

Run run_of(int block, int groups, int extra) {
    const Rank first = first_rank(block, extra);
    return {first, first_rank(block + groups, extra) - first};
}

// The slices of a run of blocks: one when they touch in memory.
std::vector<Slice> slices(const Part& part, const Run& run) {
    std::vector<Slice> result;
    if (part.blocks_touch()) {
        Slice all = part.block(BufferId::output, run.first);
        all.length *= static_cast<std::uint64_t>(run.many);
        result.push_back(all);
        return result;
    }
    for (int i = 0; i < run.many; ++i)
        result.push_back(part.block(BufferId::output, run.first + i));
    return result;
}

void send_run(Builder& builder, const Part& part, Rank peer, const Run& run) {
    for (const Slice& slice : slices(part, run))
        builder.send(peer, slice);
}

void recv_run(Builder& builder, const Part& part, Rank peer, const Run& run) {
    for (const Slice& slice : slices(part, run))
        builder.recv(peer, slice);
}

void double_among(Builder& builder, const Part& part, int levels, int extra) {
    const bool paired = part.rank < 2 * extra;
    const bool idle = paired && part.rank % 2 == 1;
    const int block = paired ? part.rank / 2 : part.rank - extra;
    for (int level = 0; level < levels; ++level) {
        const int held = 1 << level;
        const int partner = block ^ held;
        const Rank peer = first_rank(partner, extra);
        if (!idle) {
            send_run(builder, part, peer, run_of(block / held * held, held, extra));
            recv_run(builder, part, peer, run_of(partner / held * held, held, extra));
        }
        builder.end_round();
    }
}

// All blocks but its own go to the odd rank.
void share_with_pair(Builder& builder, const Part& part) {
    const Rank even = part.rank - part.rank % 2;
    const bool gives = part.rank == even;
    const auto exchange = [&](const Run& run) {
        if (gives) send_run(builder, part, even + 1, run);
        if (!gives) recv_run(builder, part, even, run);
    };
    exchange({0, even + 1});
    exchange({even + 2, part.ranks() - even - 2});
}

}  // namespace

Program all_gather_recursive_doubling(const Part& part) {
    Builder builder(part.rank);
    const int levels = floor_log2(part.ranks());
    const int extra = part.ranks() - (1 << levels);
    const bool paired = part.rank < 2 * extra;
    const Slice own = part.whole(BufferId::input);
    if (paired && part.rank % 2 == 1) builder.send(part.rank - 1, own);
    copy_own(builder, part, own, part.block(BufferId::output, part.rank));
    if (paired && part.rank % 2 == 0) builder.recv(part.rank + 1, part.block(BufferId::output, part.rank + 1));
    builder.end_round();
    double_among(builder, part, levels, extra);
    if (paired) share_with_pair(builder, part);
    builder.end_round();
    return builder.finish();
}

}  // namespace attune::collectives::algorithms
