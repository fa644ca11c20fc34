// Lists on the command line: numbers of ranks, and the roots of a rooted collective.
#pragma once

#include <string_view>
#include <vector>

namespace attune::tools {

// "1-17,33": ascending, without repeats. Throws Error(usage) for anything else than numbers and ranges from 1 to 65,536.
struct RankList {
    std::vector<int> values;
    static RankList parse(std::string_view text);
};

// "all" or one rank.
struct RootChoice {
    bool all = false;
    int root = 0;
    static RootChoice parse(std::string_view text);
    // The roots to use with so many ranks; empty when the one root is no rank of theirs.
    std::vector<int> roots(int ranks) const;
};

}  // namespace attune::tools
