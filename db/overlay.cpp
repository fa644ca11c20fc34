#include "db/overlay.hpp"

#include <algorithm>
#include <tuple>

namespace attune::db {

void Overlay::add(const ReleaseRow& row, std::size_t layer) {
    std::vector<Interval>& held = held_[row.row.key.text()];
    std::vector<Interval> free = {{row.row.low_bytes, row.row.high_bytes}};
    for (const auto& [low, high] : held) {
        std::vector<Interval> left;
        for (const auto& [first, last] : free) {
            // The comparisons keep the subtraction and the addition away from 0 and the largest value.
            if (first < low) left.emplace_back(first, std::min(last, low - 1));
            if (last > high) left.emplace_back(std::max(first, high + 1), last);
        }
        free = std::move(left);
    }
    for (const Interval& piece : free) {
        held.push_back(piece);
        rows_.push_back({row, layer});
        std::tie(rows_.back().row.row.low_bytes, rows_.back().row.row.high_bytes) = piece;
    }
}

std::vector<PlacedRow> Overlay::take() && {
    std::ranges::sort(rows_, {}, [](const PlacedRow& placed) { return std::tuple(placed.row.row.key.text(), placed.row.row.low_bytes); });
    return std::move(rows_);
}

}  // namespace attune::db
