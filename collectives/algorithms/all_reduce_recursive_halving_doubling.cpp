// Rabenseifner: recursive halving leaves each rank one slice of the sum, recursive doubling collects the slices. With p no power of two, each of the first
// 2(p - 2^L) ranks of odd number folds into its even neighbor before and gets the result after. 2L alpha + 2(2^L-1)/2^L n beta + (2^L-1)/2^L n gamma,
// L = floor(log2 p), plus 2(alpha + n beta) + n gamma for the pairs (Rabenseifner 2004; Thakur, Rabenseifner and Gropp 2005, section 4.5).
#include "collectives/algorithms/algorithms.hpp"

namespace attune::collectives::algorithms {

namespace {

// Block ranks 0 .. 2^levels - 1 take part; the first `extra` of them stand for two ranks each.
class HalvingDoubling {
public:
    explicit HalvingDoubling(const Part& part)
        : part_(part),
          builder_(part.rank),
          levels_(floor_log2(part.ranks())),
          extra_(part.ranks() - (1 << levels_)),
          paired_(part.rank < 2 * extra_),
          idle_(paired_ && part.rank % 2 == 1),
          block_(paired_ ? part.rank / 2 : part.rank - extra_),
          own_(part.whole(BufferId::input)) {}

    Program run() {
        const Slice output = part_.whole(BufferId::output);
        if (levels_ == 0) copy_own(builder_, part_, own_, output);
        if (idle_) builder_.send(part_.rank - 1, own_);
        if (paired_ && !idle_) {
            builder_.recv_reduce(part_.rank + 1, own_, output);
            own_ = output;
        }
        builder_.end_round();
        for (int level = levels_; level-- > 0;)
            halve(1 << level);
        for (int level = 0; level < levels_; ++level)
            double_up(1 << level);
        if (paired_ && !idle_) builder_.send(part_.rank + 1, output);
        if (idle_) builder_.recv(part_.rank - 1, output);
        builder_.end_round();
        return builder_.finish();
    }

private:
    // Slices [first, first + many) of 2^levels.
    Slice slices(BufferId buffer, int first, int many) const { return balanced_run(part_.whole(buffer), 1 << levels_, first, many); }
    Rank peer_at(int distance) const {
        const int block = block_ ^ distance;
        return block < extra_ ? 2 * block : block + extra_;
    }
    int kept(int distance) const { return block_ / distance * distance; }
    int given(int distance) const { return (block_ ^ distance) / distance * distance; }

    // The group of 2 x distance slices halves; what is folded lies beside what is sent, so the sums may grow in output itself.
    void halve(int distance) {
        if (!idle_) {
            builder_.send(peer_at(distance), slices(own_.buffer, given(distance), distance));
            builder_.recv_reduce(peer_at(distance), slices(own_.buffer, kept(distance), distance), slices(BufferId::output, kept(distance), distance),
                                 distance == 1 ? final_finish(part_) : Finish::store);
            own_ = part_.whole(BufferId::output);
        }
        builder_.end_round();
    }

    void double_up(int distance) {
        if (!idle_) {
            builder_.send(peer_at(distance), slices(BufferId::output, kept(distance), distance));
            builder_.recv(peer_at(distance), slices(BufferId::output, given(distance), distance));
        }
        builder_.end_round();
    }

    const Part& part_;
    Builder builder_;
    int levels_;
    int extra_;  // ranks above the largest power of two
    bool paired_, idle_;
    int block_;
    Slice own_;  // where the sums are
};

}  // namespace

Program all_reduce_recursive_halving_doubling(const Part& part) {
    return HalvingDoubling(part).run();
}

}  // namespace attune::collectives::algorithms
