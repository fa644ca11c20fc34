#include "collectives/verify/trees.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace attune::collectives::verify {

namespace {

constexpr Tree empty = ~Tree{0};
constexpr std::size_t most_kept = std::size_t{1} << 20;

std::uint64_t hash_of(std::span<const Tree> operands, bool is_scaled) noexcept {
    std::uint64_t hash = is_scaled ? 0x9e3779b97f4a7c15ULL : 0xc2b2ae3d27d4eb4fULL;
    for (const Tree tree : operands)
        hash = (std::rotl(hash, 23) ^ tree) * 0xff51afd7ed558ccdULL;
    return hash ^ (hash >> 32);
}

}  // namespace

void Trees::reset(int ranks) {
    if (ranks == ranks_ && nodes_.size() < most_kept) return;
    ranks_ = ranks;
    words_ = (static_cast<std::size_t>(ranks) + 63) / 64;
    nodes_.assign(static_cast<std::size_t>(ranks), Node{});
    operands_.clear();
    rank_sets_.assign(static_cast<std::size_t>(ranks) * words_, 0);
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks); ++rank)
        rank_sets_[rank * words_ + rank / 64] = std::uint64_t{1} << (rank % 64);
    if (ranks == 1) nodes_[0].whole = true;
    table_.assign(1024, empty);
}

Tree Trees::fold_and_finish(std::span<const Tree> operands, bool is_scaled) {
    canonical_.assign(operands.begin(), operands.end());
    if (canonical_[0] > canonical_[1]) std::swap(canonical_[0], canonical_[1]);
    return find_or_add(canonical_, is_scaled);
}

Tree Trees::scaled(Tree operand) {
    return find_or_add({&operand, 1}, true);
}

Tree Trees::find_or_add(std::span<const Tree> operands, bool is_scaled) {
    const std::uint64_t hash = hash_of(operands, is_scaled);
    const std::size_t mask = table_.size() - 1;
    for (std::size_t at = hash & mask; table_[at] != empty; at = (at + 1) & mask) {
        const Node& node = nodes_[table_[at]];
        if (node.hash == hash && node.is_scaled == is_scaled && std::ranges::equal(operands_of(node), operands)) return table_[at];
    }
    return add(operands, is_scaled, hash);
}

Tree Trees::add(std::span<const Tree> operands, bool is_scaled, std::uint64_t hash) {
    if (2 * nodes_.size() >= table_.size()) grow();
    Node node{static_cast<std::uint32_t>(operands_.size()), static_cast<std::uint32_t>(operands.size()), hash, true, false, is_scaled, false};
    operands_.insert(operands_.end(), operands.begin(), operands.end());
    merge_ranks(node, operands);
    const auto tree = static_cast<Tree>(nodes_.size());
    nodes_.push_back(node);
    const std::size_t mask = table_.size() - 1;
    std::size_t at = hash & mask;
    while (table_[at] != empty)
        at = (at + 1) & mask;
    table_[at] = tree;
    return tree;
}

void Trees::merge_ranks(Node& node, std::span<const Tree> operands) {
    const std::size_t base = rank_sets_.size();
    rank_sets_.resize(base + words_, 0);
    for (const Tree operand : operands) {
        node.sound = node.sound && nodes_[operand].sound;
        for (std::size_t word = 0; word < words_; ++word) {
            const std::uint64_t theirs = rank_sets_[operand * words_ + word];
            node.sound = node.sound && (rank_sets_[base + word] & theirs) == 0;
            rank_sets_[base + word] |= theirs;
        }
    }
    int found = 0;
    for (std::size_t word = 0; word < words_; ++word)
        found += std::popcount(rank_sets_[base + word]);
    const bool whole = node.sound && found == ranks_;
    node.whole = whole && !node.is_scaled;
    node.divided = whole && node.is_scaled;
    node.sound = node.sound && !node.is_scaled;
}

bool Trees::is_prefix(Tree tree, Rank ranks) const noexcept {
    if (!nodes_[tree].sound) return false;
    for (std::size_t word = 0; word < words_; ++word) {
        const auto before = static_cast<std::size_t>(ranks) - std::min(static_cast<std::size_t>(ranks), word * 64);
        const std::uint64_t wanted = before >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << before) - 1;
        if (rank_sets_[tree * words_ + word] != wanted) return false;
    }
    return true;
}

void Trees::grow() {
    table_.assign(2 * table_.size(), empty);
    const std::size_t mask = table_.size() - 1;
    for (std::size_t tree = static_cast<std::size_t>(ranks_); tree < nodes_.size(); ++tree) {
        std::size_t at = nodes_[tree].hash & mask;
        while (table_[at] != empty)
            at = (at + 1) & mask;
        table_[at] = static_cast<Tree>(tree);
    }
}

std::string Trees::describe(Tree tree) const {
    if (tree < static_cast<Tree>(ranks_)) return fmt::format("r{}", tree);
    std::string text;
    for (const Tree operand : operands_of(nodes_[tree])) {
        text += (text.empty() ? "" : " + ") + describe(operand);
        if (text.size() > 120) return "(" + text + " ...)";
    }
    return nodes_[tree].is_scaled ? "scaled(" + text + ")" : "(" + text + ")";
}

}  // namespace attune::collectives::verify
