// Default against tuned on one screen: a line per size, a column per problem.
#pragma once

#include "db/journal.hpp"
#include "db/release.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attune::tools {

// Absent gain: tried, and nothing was proven faster than the default.
struct GridCell {
    bool proven = false;
    double gain = 1, low = 1, high = 1;
};

struct Grid {
    std::vector<std::string> titles;                                 // of the columns: "all_reduce", with what tells equal names apart
    std::map<std::uint64_t, std::map<std::size_t, GridCell>> sizes;  // by bytes, then column; a missing cell was not tried
};

// `trials` and `rows` are those of one machine. `only` limits the lines to these sizes when not empty.
Grid make_grid(const std::vector<db::Trial>& trials, const std::vector<db::ReleaseRow>& rows, std::span<const std::uint64_t> only = {});
// "1.42x [1.38,1.47]" or "same"; at most `columns` wide, in several tables when need be. Empty for an empty grid.
std::string grid_text(const Grid& grid, std::size_t columns = 100);

}  // namespace attune::tools
