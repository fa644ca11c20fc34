#include "libcore/ops.hpp"

#include "libcore/text.hpp"

#include <array>
#include <string>
#include <vector>

namespace attune::core {

namespace {

// In the order of the enumeration.
constexpr std::array<std::string_view, 4> names = {"sum", "prod", "min", "max"};
constexpr std::array<Op, 4> ops = {Op::sum, Op::prod, Op::min, Op::max};

}  // namespace

std::string_view name_of(Op op) noexcept {
    return names[static_cast<std::size_t>(op)];
}

std::span<const Op> all_ops() noexcept {
    return ops;
}

Op parse_op(std::string_view text) {
    const std::vector<std::string> candidates(names.begin(), names.end());
    const std::string word = require_word("op", text, candidates);
    for (const Op op : ops) {
        if (name_of(op) == word) return op;
    }
    return Op::sum;  // not reached: require_word returns one of the names
}

}  // namespace attune::core
