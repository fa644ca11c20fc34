#include "collectives/node_map.hpp"

#include "libcore/error.hpp"
#include "libcore/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>

namespace attune::collectives {

namespace {

using core::Error;
using core::ErrorCode;

constexpr int max_ranks = 1 << 20;  // keeps a mistyped size from taking all memory

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
    throw Error(ErrorCode::usage,
                fmt::format("the node map '{}' {}; write for example 2x4, 2,2,1, 2,2,1:cyclic or irregular:0,1,1,0", core::printable(text), why));
}

int parse_number(std::string_view number, int minimum, std::string_view text) {
    int value = 0;
    const auto [end, status] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (status != std::errc() || end != number.data() + number.size() || value < minimum || value > max_ranks)
        refuse(text, fmt::format("has '{}' where a whole number of at least {} belongs", core::printable(number), minimum));
    return value;
}

std::vector<int> parse_list(std::string_view list, int minimum, std::string_view text) {
    std::vector<int> numbers;
    for (const std::string& piece : core::split(list, ','))
        numbers.push_back(parse_number(piece, minimum, text));
    if (numbers.empty()) refuse(text, "names no node");
    return numbers;
}

// "2x4" or "2,2,1": ranks of each node.
std::vector<int> parse_sizes(std::string_view sizes, std::string_view text) {
    const std::size_t cross = sizes.find('x');
    if (cross == std::string_view::npos) return parse_list(sizes, 1, text);
    const int nodes = parse_number(sizes.substr(0, cross), 1, text), ranks = parse_number(sizes.substr(cross + 1), 1, text);
    if (nodes > max_ranks / ranks) refuse(text, fmt::format("has more than {} ranks", max_ranks));
    return std::vector<int>(static_cast<std::size_t>(nodes), ranks);
}

std::vector<int> in_blocks(const std::vector<int>& sizes) {
    std::vector<int> node_of;
    for (std::size_t node = 0; node < sizes.size(); ++node)
        node_of.insert(node_of.end(), static_cast<std::size_t>(sizes[node]), static_cast<int>(node));
    return node_of;
}

std::vector<int> dealt(std::vector<int> sizes) {
    std::vector<int> node_of;
    for (bool any = true; any;) {
        any = false;
        for (std::size_t node = 0; node < sizes.size(); ++node) {
            if (sizes[node] == 0) continue;
            --sizes[node];
            node_of.push_back(static_cast<int>(node));
            any = true;
        }
    }
    return node_of;
}

// Nodes renamed in the order of their first ranks.
template <class Label>
NodeMap numbered(const std::vector<Label>& labels) {
    std::map<Label, int> numbers;
    NodeMap map;
    for (const Label& label : labels)
        map.node_of.push_back(numbers.try_emplace(label, static_cast<int>(numbers.size())).first->second);
    return map;
}

std::vector<int> sizes_of(const NodeMap& map) {
    std::vector<int> sizes(static_cast<std::size_t>(map.nodes()), 0);
    for (const int node : map.node_of)
        ++sizes[static_cast<std::size_t>(node)];
    return sizes;
}

std::string text_of(const std::vector<int>& sizes) {
    const bool equal = std::ranges::count(sizes, sizes.front()) == static_cast<std::ptrdiff_t>(sizes.size());
    return equal ? fmt::format("{}x{}", sizes.size(), sizes.front()) : fmt::format("{}", fmt::join(sizes, ","));
}

}  // namespace

NodeMap NodeMap::parse(std::string_view text) {
    constexpr std::string_view irregular = "irregular:";
    if (text.starts_with(irregular)) return numbered(parse_list(text.substr(irregular.size()), 0, text));
    const std::size_t colon = text.find(':');
    const std::vector<int> sizes = parse_sizes(text.substr(0, colon), text);
    std::uint64_t ranks = 0;
    for (const int size : sizes)
        ranks += static_cast<std::uint64_t>(size);
    if (ranks > max_ranks) refuse(text, fmt::format("has more than {} ranks", max_ranks));
    const std::string_view order = colon == std::string_view::npos ? "block" : text.substr(colon + 1);
    if (order != "block" && order != "cyclic") refuse(text, fmt::format("has the order '{}', which is neither block nor cyclic", core::printable(order)));
    return numbered(order == "block" ? in_blocks(sizes) : dealt(sizes));
}

NodeMap NodeMap::blocks(int ranks, int ranks_per_node) {
    if (ranks < 1 || ranks_per_node < 1)
        throw Error(ErrorCode::usage, fmt::format("{} ranks with {} on each node make no team; both are at least 1", ranks, ranks_per_node));
    NodeMap map;
    for (int rank = 0; rank < ranks; ++rank)
        map.node_of.push_back(rank / ranks_per_node);
    return map;
}

NodeMap NodeMap::of_labels(const std::vector<std::string>& labels) {
    return numbered(labels);
}

std::string NodeMap::text() const {
    if (node_of.empty()) return {};
    const std::vector<int> sizes = sizes_of(*this);
    if (node_of == in_blocks(sizes)) return text_of(sizes);
    if (node_of == dealt(sizes)) return text_of(sizes) + ":cyclic";
    return fmt::format("irregular:{}", fmt::join(node_of, ","));
}

int NodeMap::nodes() const noexcept {
    return node_of.empty() ? 0 : *std::ranges::max_element(node_of) + 1;
}

std::vector<Rank> NodeMap::ranks_of(int node) const {
    std::vector<Rank> ranks;
    for (std::size_t rank = 0; rank < node_of.size(); ++rank)
        if (node_of[rank] == node) ranks.push_back(static_cast<Rank>(rank));
    return ranks;
}

Rank NodeMap::leader(int node) const {
    const auto found = std::ranges::find(node_of, node);
    return found == node_of.end() ? -1 : static_cast<Rank>(found - node_of.begin());
}

}  // namespace attune::collectives
