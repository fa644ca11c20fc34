#include "collectives/algorithms/part.hpp"

#include "collectives/amounts.hpp"

#include <algorithm>
#include <bit>

namespace attune::collectives {

Slice balanced_run(const Slice& whole, int pieces, int first, int many) noexcept {
    const auto count = static_cast<std::uint64_t>(pieces);
    const std::uint64_t base = whole.length / count;
    const std::uint64_t longer = whole.length % count;
    const auto start_of = [&](int index) { return static_cast<std::uint64_t>(index) * base + std::min(static_cast<std::uint64_t>(index), longer); };
    return whole.part(start_of(first), start_of(first + many) - start_of(first));
}

Slice balanced(const Slice& whole, int pieces, int index) noexcept {
    return balanced_run(whole, pieces, index, 1);
}

int floor_log2(int value) noexcept {
    return std::bit_width(static_cast<unsigned>(value)) - 1;
}

int ceil_log2(int value) noexcept {
    return std::bit_width(static_cast<unsigned>(value) - 1U);
}

std::vector<Rank> others(const Part& part) {
    std::vector<Rank> peers;
    peers.reserve(static_cast<std::size_t>(part.ranks()));
    for (int i = 1; i < part.ranks(); ++i)
        peers.push_back(part.neighbor(i));
    return peers;
}

void rank_order_fold(Builder& builder, const Part& part, const Slice& own, const Slice& destination) {
    std::vector<Term> terms;
    terms.reserve(static_cast<std::size_t>(part.ranks()));
    for (Rank q = 0; q < part.ranks(); ++q)
        terms.push_back(q == part.rank ? Term::local(own) : Term::message(q));
    if (part.rank == 0) std::swap(terms[0], terms[1]);
    builder.fold(terms, destination, final_finish(part));
}

Slice cut(const Part& part, const Slice& block) noexcept {
    return balanced(balanced(block, part.channel.of, part.channel.index), part.segment.of, part.segment.index);
}

Slice own_contribution(const Part& part) {
    return cut(part, {BufferId::input, 0, part.problem.input_elements(part.rank)});
}

Slice own_result(const Part& part) {
    return cut(part, {BufferId::output, 0, part.problem.output_elements(part.rank)});
}

namespace {

std::vector<Slice> cut_blocks(const Part& part, BufferId buffer, const std::vector<Block>& blocks) {
    std::vector<Slice> slices;
    slices.reserve(blocks.size());
    for (const Block& block : blocks)
        slices.push_back(cut(part, {buffer, block.offset, block.length}));
    return slices;
}

}  // namespace

std::vector<Slice> sent_blocks(const Part& part) {
    return cut_blocks(part, BufferId::input, send_blocks(part.problem, part.rank));
}

std::vector<Slice> received_blocks(const Part& part) {
    return cut_blocks(part, BufferId::output, receive_blocks(part.problem, part.rank));
}

int subtree(int place, int ranks) noexcept {
    if (place == 0) return ranks;
    return std::min(place & -place, ranks - place);
}

Slice Run::at_root(const Part& part, BufferId buffer) const noexcept {
    Slice slice = part.block(buffer, static_cast<Rank>((part.problem.root + first_place) % part.ranks()));
    slice.length *= static_cast<std::uint64_t>(many);
    return slice;
}

std::vector<Run> root_runs(const Part& part, int first_place, int many) {
    std::vector<Run> runs;
    for (int place = first_place; place < first_place + many;) {
        const int to_end = part.ranks() - (part.problem.root + place) % part.ranks();
        const int run = part.blocks_touch() ? std::min(first_place + many - place, to_end) : 1;
        runs.push_back({place, run});
        place += run;
    }
    return runs;
}

Finish final_finish(const Part& part) noexcept {
    return averages(part.problem) ? Finish::scale : Finish::store;
}

void copy_own(Builder& builder, const Part& part, const Slice& source, const Slice& destination) {
    if (!part.problem.in_place) builder.copy(source, destination);
}

}  // namespace attune::collectives
