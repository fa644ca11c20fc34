#include "apps/tools/support/lists.hpp"

#include "libcore/error.hpp"
#include "libcore/text.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <string>

namespace attune::tools {
namespace {

constexpr int max_ranks = 65'536;

int parse_rank(std::string_view text, std::string_view whole, int lowest) {
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size() || number < lowest || number > max_ranks) {
        throw core::Error(core::ErrorCode::usage, "'" + std::string(text) + "' in '" + std::string(whole) + "' is not a number from " + std::to_string(lowest) +
                                                      " to " + std::to_string(max_ranks) + "; write a list such as 1-17,33");
    }
    return number;
}

}  // namespace

RankList RankList::parse(std::string_view text) {
    RankList list;
    for (const std::string& piece : core::split(text, ',')) {
        const std::size_t dash = piece.find('-');
        const int first = parse_rank(piece.substr(0, dash), text, 1);
        const int last = dash == std::string::npos ? first : parse_rank(piece.substr(dash + 1), text, 1);
        if (last < first) {
            throw core::Error(core::ErrorCode::usage, "the range '" + piece + "' goes down; write " + std::to_string(last) + "-" + std::to_string(first));
        }
        for (int ranks = first; ranks <= last; ++ranks) {
            list.values.push_back(ranks);
        }
    }
    if (list.values.empty()) {
        throw core::Error(core::ErrorCode::usage, "the list of ranks is empty; write a list such as 1-17,33");
    }
    std::sort(list.values.begin(), list.values.end());
    list.values.erase(std::unique(list.values.begin(), list.values.end()), list.values.end());
    return list;
}

RootChoice RootChoice::parse(std::string_view text) {
    if (text == "all") {
        return {.all = true, .root = 0};
    }
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size() || number < 0) {
        throw core::Error(core::ErrorCode::usage, "the root '" + std::string(text) + "' is neither a rank (0, 1, ...) nor all");
    }
    return {.all = false, .root = number};
}

std::vector<int> RootChoice::roots(int ranks) const {
    if (!all) {
        return root < ranks ? std::vector<int>{root} : std::vector<int>{};
    }
    std::vector<int> every(static_cast<std::size_t>(ranks));
    std::iota(every.begin(), every.end(), 0);
    return every;
}

}  // namespace attune::tools
