// Bruck: the block for the rank i after travels in the rounds of the bits of i, packed with all others of that bit. ceil(log2 p) alpha + n/2 ceil(log2 p) beta
// and twice as many bytes of copies, n = bytes of a buffer (Bruck et al. 1997; Thakur, Rabenseifner and Gropp 2005, section 4.6).
#include "collectives/algorithms/algorithms.hpp"

namespace attune::collectives::algorithms {

namespace {

// Position i holds a block that still has to go i ranks on, less the bits of i already travelled; after the last one it is the block of the rank i before.
class BruckExchange {
public:
    explicit BruckExchange(const Part& part) : part_(part), builder_(part.rank), where_(static_cast<std::size_t>(part.ranks())) {
        for (int i = 1; i < part.ranks(); ++i)
            at(i) = part.block(BufferId::input, part.neighbor(i));
    }

    Program run() {
        copy_own(builder_, part_, part_.block(BufferId::input, part_.rank), part_.block(BufferId::output, part_.rank));
        for (int bit = 1; bit < part_.ranks(); bit *= 2) {
            const Slice packed = pack(bit);
            builder_.end_round();
            exchange(bit, packed);
        }
        for (int i = 1; i < part_.ranks(); ++i)
            builder_.copy(at(i), part_.block(BufferId::output, part_.neighbor(-i)));
        builder_.end_round();
        return builder_.finish();
    }

private:
    Slice& at(int position) { return where_[static_cast<std::size_t>(position)]; }

    std::vector<int> travelling(int bit) const {
        std::vector<int> positions;
        for (int i = bit; i < part_.ranks(); ++i)
            if ((i & bit) != 0) positions.push_back(i);
        return positions;
    }

    Slice pack(int bit) {
        const std::vector<int> positions = travelling(bit);
        const Slice packed = builder_.scratch(positions.size() * part_.length);
        for (std::size_t slot = 0; slot < positions.size(); ++slot)
            builder_.copy(at(positions[slot]), packed.part(slot * part_.length, part_.length));
        return packed;
    }

    void exchange(int bit, const Slice& packed) {
        const std::vector<int> positions = travelling(bit);
        const Slice arrived = builder_.scratch(packed.length);
        builder_.send(part_.neighbor(bit), packed);
        builder_.recv(part_.neighbor(-bit), arrived);
        for (std::size_t slot = 0; slot < positions.size(); ++slot)
            at(positions[slot]) = arrived.part(slot * part_.length, part_.length);
    }

    const Part& part_;
    Builder builder_;
    std::vector<Slice> where_;  // by position
};

}  // namespace

Program all_to_all_bruck(const Part& part) {
    return BruckExchange(part).run();
}

}  // namespace attune::collectives::algorithms
