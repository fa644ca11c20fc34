#include "libcore/ops.hpp"

#include "libcore/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace attune::core {

namespace {

// In the order of the enumeration.
constexpr std::array<std::string_view, 8> names = {"sum", "prod", "min", "max", "avg", "band", "bor", "bxor"};
constexpr std::array<Op, 8> ops = {Op::sum, Op::prod, Op::min, Op::max, Op::avg, Op::band, Op::bor, Op::bxor};

// Accepted, never printed.
constexpr std::array<std::pair<std::string_view, Op>, 5> aliases = {{
    {"add", Op::sum},
    {"product", Op::prod},
    {"mean", Op::avg},
    {"average", Op::avg},
    {"xor", Op::bxor},
}};

std::vector<std::string_view> names_of(bool floating) {
    std::vector<std::string_view> result;
    for (const DType dtype : all_dtypes()) {
        if (is_floating(dtype) == floating) result.push_back(name_of(dtype));
    }
    return result;
}

}  // namespace

std::string_view name_of(Op op) noexcept {
    return names[static_cast<std::size_t>(op)];
}

std::span<const Op> all_ops() noexcept {
    return ops;
}

Op parse_op(std::string_view text) {
    const auto* const alias = std::ranges::find(aliases, text, &std::pair<std::string_view, Op>::first);
    if (alias != aliases.end()) return alias->second;
    const std::vector<std::string> candidates(names.begin(), names.end());
    const std::string word = require_word("op", text, candidates);
    for (const Op op : ops) {
        if (name_of(op) == word) return op;
    }
    return Op::sum;  // not reached: require_word returns one of the names
}

std::optional<std::string> unsupported(DType dtype, Op op) {
    const bool bitwise = op == Op::band || op == Op::bor || op == Op::bxor;
    if (op == Op::avg && !is_floating(dtype))
        return fmt::format("avg does not work on {}; use one of {}, or sum", name_of(dtype), fmt::join(names_of(true), ", "));
    if (bitwise && is_floating(dtype))
        return fmt::format("{} does not work on {}; use one of {}", name_of(op), name_of(dtype), fmt::join(names_of(false), ", "));
    return std::nullopt;
}

}  // namespace attune::core
