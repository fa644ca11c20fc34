// Recursive halving: in round s partners exchange the half of their blocks that is not theirs and fold the rest. With p no power of two, the first 2(p - 2^L)
// ranks pair up: the odd one gives its whole input before and gets its block after. L alpha + (p-1)/p n (beta + gamma), L = floor(log2 p), plus
// 2 alpha + (1 + 1/p) n beta + n gamma for the pairs (Thakur, Rabenseifner and Gropp 2005, section 4.3).
#include "collectives/algorithms/algorithms.hpp"

#include <utility>

namespace attune::collectives::algorithms {

namespace {

// Block ranks [first, first + many) stand for ranks [begin(), end()): the first `extra` block ranks for two ranks each.
struct Group {
    int first, many, extra;

    Rank rank_at(int block) const { return block < extra ? 2 * block : block + extra; }
    Rank begin() const { return rank_at(first); }
    Rank end() const { return rank_at(first + many); }
    Group half(bool upper) const { return {upper ? first + many / 2 : first, many / 2, extra}; }
};

class Halving {
public:
    Halving(const Part& part)
        : part_(part),
          builder_(part.rank),
          levels_(floor_log2(part.ranks())),
          extra_(part.ranks() - (1 << levels_)),
          paired_(part.rank < 2 * extra_),
          odd_(part.rank % 2 == 1),
          scratch_(builder_.scratch(part.ranks() > 1 ? static_cast<std::uint64_t>(part.ranks()) * part.length : 0)) {}

    Program run() {
        if (levels_ == 0) copy_own(builder_, part_, part_.block(BufferId::input, 0), part_.whole(BufferId::output));
        give_before();
        halve();
        give_after();
        return builder_.finish();
    }

private:
    Slice at(Rank first, int many) const { return in_scratch_ ? scratch(first, many) : input(first, many); }
    Slice scratch(Rank first, int many) const { return long_slice(scratch_.part(static_cast<std::uint64_t>(first) * part_.length, part_.length), many); }
    Slice input(Rank first, int many) const { return long_slice(part_.block(BufferId::input, first), many); }
    static Slice long_slice(Slice slice, int many) {
        slice.length *= static_cast<std::uint64_t>(many);
        return slice;
    }

    // Calls f(first, many) for the messages that carry ranks [begin, end): one, or one per block; both ends cut alike.
    template <typename Function>
    static void messages(Rank begin, Rank end, bool per_block, Function f) {
        const int step = per_block ? 1 : end - begin;
        for (Rank first = begin; first < end; first += step)
            f(first, step);
    }

    void give_before() {
        messages(0, part_.ranks(), !part_.blocks_touch(), [&](Rank first, int many) {
            if (paired_ && odd_) builder_.send(part_.rank - 1, input(first, many));
            if (paired_ && !odd_) builder_.recv_reduce(part_.rank + 1, input(first, many), scratch(first, many));
        });
        in_scratch_ = paired_ && !odd_;
        builder_.end_round();
    }

    // The last round moves single blocks, because the own one then goes to output; the first does when blocks lie apart in the input.
    void halve() {
        const int block = paired_ ? part_.rank / 2 : part_.rank - extra_;
        Group group{0, 1 << levels_, extra_};
        for (int level = 0; level < levels_; ++level) {
            const bool last = level == levels_ - 1;
            const bool upper = block >= group.first + group.many / 2;
            const Rank peer = group.rank_at(upper ? block - group.many / 2 : block + group.many / 2);
            const bool per_block = last || (level == 0 && !part_.blocks_touch());
            if (!(paired_ && odd_)) exchange(peer, {group.half(!upper), group.half(upper)}, per_block, last);
            group = group.half(upper);
            in_scratch_ = true;
            builder_.end_round();
        }
    }

    void exchange(Rank peer, const std::pair<Group, Group>& given_kept, bool per_block, bool last) {
        const auto& [given, kept] = given_kept;
        messages(given.begin(), given.end(), per_block, [&](Rank first, int many) { builder_.send(peer, at(first, many)); });
        messages(kept.begin(), kept.end(), per_block, [&](Rank first, int many) {
            const bool result = last && first == part_.rank;
            builder_.recv_reduce(peer, at(first, many), result ? part_.whole(BufferId::output) : scratch(first, many),
                                 last ? final_finish(part_) : Finish::store);
        });
    }

    void give_after() {
        if (paired_ && !odd_) builder_.send(part_.rank + 1, scratch(part_.rank + 1, 1));
        if (paired_ && odd_) builder_.recv(part_.rank - 1, part_.whole(BufferId::output));
        builder_.end_round();
    }

    const Part& part_;
    Builder builder_;
    int levels_;
    int extra_;  // ranks above the largest power of two
    bool paired_, odd_;
    Slice scratch_;            // one block per rank, side by side
    bool in_scratch_ = false;  // where the partial sums are
};

}  // namespace

Program reduce_scatter_recursive_halving(const Part& part) {
    return Halving(part).run();
}

}  // namespace attune::collectives::algorithms
