// How the rows of several releases become one set without overlaps: what an earlier row holds, a later one gives up.
#pragma once

#include "db/release.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace attune::db {

// A row, or the part of it that is left, and the layer it comes from.
struct PlacedRow {
    ReleaseRow row;
    std::size_t layer = 0;
};

class Overlay {
public:
    // Keeps what no row of the same key added earlier holds: all of it, one or more pieces of its interval, or nothing.
    void add(const ReleaseRow& row, std::size_t layer);
    // In the order of a table: by key and size.
    std::vector<PlacedRow> take() &&;

private:
    using Interval = std::pair<std::uint64_t, std::uint64_t>;  // both ends included
    std::map<std::string, std::vector<Interval>> held_;        // by text of the key
    std::vector<PlacedRow> rows_;
};

}  // namespace attune::db
