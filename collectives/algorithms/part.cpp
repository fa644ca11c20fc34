#include "collectives/algorithms/part.hpp"

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
    builder.fold(terms, destination);
}

void copy_own(Builder& builder, const Part& part, const Slice& source, const Slice& destination) {
    if (!part.problem.in_place) builder.copy(source, destination);
}

}  // namespace attune::collectives
