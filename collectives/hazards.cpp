#include "collectives/hazards.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <span>
#include <utility>

namespace attune::collectives {

namespace {

// One address space for the three memories; offsets stay far below 2^62.
std::uint64_t position(Memory memory, std::uint64_t offset) noexcept {
    return (static_cast<std::uint64_t>(memory) << 62) + offset;
}

struct Read {
    std::uint64_t begin = 0, end = 0;
    std::uint32_t operation = 0;
};

// The slices that sends read, sorted by begin, under a tree of the largest end of the *pending* ones: 0 for sends not reached yet or
// already waited for. Finding one pending overlap costs O(log n), finding none too.
class PendingReads {
public:
    explicit PendingReads(std::vector<Read> reads) : reads_(std::move(reads)), leaves_(std::bit_ceil(std::max<std::size_t>(reads_.size(), 1))) {
        if (!std::ranges::is_sorted(reads_, {}, &Read::begin)) std::ranges::sort(reads_, {}, &Read::begin);
        tree_.assign(2 * leaves_, 0);
    }

    std::span<const Read> sorted() const noexcept { return reads_; }

    void insert(std::size_t index) noexcept {
        for (std::size_t node = leaves_ + index; node > 0; node /= 2)
            tree_[node] = std::max(tree_[node], reads_[index].end);
    }

    // Appends and forgets the pending sends that overlap [begin, end).
    void take(std::uint64_t begin, std::uint64_t end, std::vector<std::uint32_t>& found) { take_below(1, {0, leaves_}, {begin, end, 0}, found); }

private:
    struct Leaves {
        std::size_t first, count;
    };

    void take_below(std::size_t node, Leaves leaves, const Read& wanted, std::vector<std::uint32_t>& found) {
        if (tree_[node] <= wanted.begin || reads_[leaves.first].begin >= wanted.end) return;
        if (leaves.count == 1) {
            found.push_back(reads_[leaves.first].operation);
            tree_[node] = 0;
            return;
        }
        const std::size_t half = leaves.count / 2;
        take_below(2 * node, {leaves.first, half}, wanted, found);
        if (leaves.first + half < reads_.size()) take_below(2 * node + 1, {leaves.first + half, half}, wanted, found);
        tree_[node] = std::max(tree_[2 * node], tree_[2 * node + 1]);
    }

    std::vector<Read> reads_;
    std::size_t leaves_;
    std::vector<std::uint64_t> tree_;
};

std::array<bool, 3> written_by_folds(std::span<const Operation> operations) {
    std::array<bool, 3> written{};
    for (const Operation& operation : operations) {
        if (operation.kind == OperationKind::fold) written[static_cast<std::size_t>(operation.memory)] = true;
    }
    return written;
}

// The sends of the operations [begin, end) that a fold among them could disturb.
std::vector<Read> reads_of(const Plan& plan, std::uint32_t begin, std::uint32_t end) {
    const std::array<bool, 3> written = written_by_folds(std::span(plan.operations).subspan(begin, end - begin));
    std::vector<Read> reads;
    for (std::uint32_t index = begin; index < end; ++index) {
        const Operation& operation = plan.operations[index];
        if (operation.kind != OperationKind::send || operation.length == 0 || !written[static_cast<std::size_t>(operation.memory)]) continue;
        const std::uint64_t first = position(operation.memory, operation.offset);
        reads.push_back({first, first + operation.length, index});
    }
    return reads;
}

}  // namespace

void list_hazards(Plan& plan, int channel) {
    const std::uint32_t begin = plan.channel_begin[static_cast<std::size_t>(channel)];
    const std::uint32_t end = plan.channel_begin[static_cast<std::size_t>(channel) + 1];
    PendingReads pending(reads_of(plan, begin, end));
    if (pending.sorted().empty()) return;
    constexpr std::uint32_t none = ~std::uint32_t{0};
    std::vector<std::uint32_t> place(end - begin, none);  // of a send, among the sorted reads
    for (std::uint32_t index = 0; index < pending.sorted().size(); ++index)
        place[pending.sorted()[index].operation - begin] = index;
    for (std::uint32_t index = begin; index < end; ++index) {
        Operation& operation = plan.operations[index];
        if (place[index - begin] != none) pending.insert(place[index - begin]);
        if (operation.kind != OperationKind::fold || operation.length == 0) continue;
        operation.first_hazard = static_cast<std::uint32_t>(plan.hazards.size());
        const std::uint64_t first = position(operation.memory, operation.offset);
        pending.take(first, first + operation.length, plan.hazards);
        operation.hazard_count = static_cast<std::uint32_t>(plan.hazards.size()) - operation.first_hazard;
        std::sort(plan.hazards.begin() + operation.first_hazard, plan.hazards.end());
    }
}

}  // namespace attune::collectives
