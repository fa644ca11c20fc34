#include "apps/tools/bench/problems.hpp"

#include "libcore/error.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <iterator>
#include <utility>

namespace attune::tools::bench {

namespace {

using collectives::Collective;
using collectives::Problem;

// The values of a list option; "all" stands for every one.
template <class Value, class Parse>
std::vector<Value> values_of(const std::vector<std::string>& words, std::span<const Value> all, Parse parse) {
    std::vector<Value> values;
    for (const std::string& word : words) {
        if (word == "all") return {all.begin(), all.end()};
        const Value value = parse(word);
        if (std::ranges::find(values, value) == values.end()) values.push_back(value);
    }
    return values;
}

std::uint64_t blocks_of(Collective collective, int ranks) {
    return collectives::has_blocks(collective) ? static_cast<std::uint64_t>(ranks) : 1;
}

std::uint64_t parse_count(const std::string& text) {
    std::uint64_t count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (error != std::errc{} || end != text.data() + text.size()) throw core::Error(core::ErrorCode::usage, "--count '" + text + "' is not a whole number");
    return count;
}

// Sizes in bytes must not overflow; no schedule exists beyond 2^56.
std::vector<std::uint64_t> allowed(std::vector<std::uint64_t> counts, const Problem& shape) {
    const std::uint64_t most = (std::uint64_t{1} << 56) / core::size_of(shape.dtype) / static_cast<std::uint64_t>(shape.ranks);
    const auto large = std::ranges::find_if(counts, [most](std::uint64_t count) { return count > most; });
    if (large == counts.end()) return counts;
    throw core::Error(core::ErrorCode::usage, "count " + std::to_string(*large) + " of " + std::string(core::name_of(shape.dtype)) + " on " +
                                                  std::to_string(shape.ranks) + " ranks is above 2^56 bytes; use smaller sizes");
}

std::vector<std::uint64_t> counts_of(const Options& options, const Problem& shape) {
    if (shape.collective == Collective::barrier) return {0};
    std::vector<std::uint64_t> counts;
    for (const std::string& text : options.counts)
        counts.push_back(parse_count(text));
    if (!counts.empty()) return allowed(std::move(counts), shape);
    const std::uint64_t unit = core::size_of(shape.dtype) * blocks_of(shape.collective, shape.ranks);
    for (const std::uint64_t bytes : options.sizes.sizes())
        counts.push_back(bytes / unit);
    counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
    return allowed(std::move(counts), shape);
}

// Operators that do not work on the type are left out of "all" and are errors when named.
std::vector<core::Op> ops_of(const Options& options, const Problem& shape) {
    if (!collectives::reduces(shape.collective)) return {core::Op::sum};
    std::vector<core::Op> ops = values_of<core::Op>(options.ops, core::all_ops(), core::parse_op);
    const bool all = std::ranges::find(options.ops, "all") != options.ops.end() || std::ranges::find(options.dtypes, "all") != options.dtypes.end();
    std::erase_if(ops, [&](core::Op op) {
        const std::optional<std::string> why = core::unsupported(shape.dtype, op);
        if (why && !all) throw core::Error(core::ErrorCode::usage, *why);
        return why.has_value();
    });
    return ops;
}

std::vector<int> roots_of(const Options& options, const Problem& shape) {
    if (!collectives::is_rooted(shape.collective)) return {0};
    std::vector<int> roots = options.roots.roots(shape.ranks);
    if (roots.empty()) {
        throw core::Error(core::ErrorCode::usage, "--roots " + std::to_string(options.roots.root) + " is no rank of " + std::to_string(shape.ranks) +
                                                      "; roots are 0 to " + std::to_string(shape.ranks - 1));
    }
    return roots;
}

std::vector<core::DType> dtypes_of(const Options& options, Collective collective) {
    std::vector<core::DType> dtypes = values_of<core::DType>(options.dtypes, core::all_dtypes(), core::parse_dtype);
    if (collective == Collective::barrier) dtypes.resize(1);
    return dtypes;
}

// All problems that differ from `shape` in operator, root and count only.
void add_series(const Options& options, Problem shape, std::vector<Problem>& problems) {
    for (const core::Op op : ops_of(options, shape)) {
        for (const int root : roots_of(options, shape)) {
            shape.op = op;
            shape.root = root;
            for (const std::uint64_t count : counts_of(options, shape)) {
                problems.push_back(shape);
                problems.back().count = count;
            }
        }
    }
}

}  // namespace

std::vector<Collective> collectives_of(const Options& options) {
    const std::vector<std::string> all = {"all"};
    std::vector<Collective> of_a_count;
    std::ranges::copy_if(collectives::all_collectives(), std::back_inserter(of_a_count), std::not_fn(collectives::has_amounts));
    return values_of<Collective>(options.collectives.empty() ? all : options.collectives, of_a_count, collectives::parse_collective);
}

std::vector<Problem> problems_of(const Options& options, int ranks) {
    std::vector<Problem> problems;
    Problem shape;
    shape.ranks = ranks;
    shape.node_map = options.nodes.text(ranks);
    for (const Collective collective : collectives_of(options)) {
        shape.collective = collective;
        for (const core::DType dtype : dtypes_of(options, collective)) {
            shape.dtype = dtype;
            add_series(options, shape, problems);
        }
    }
    return problems;
}

std::vector<bool> forms_of(const Options& options, const Problem& problem) {
    if (problem.collective == Collective::barrier || options.in_place == "no") return {false};
    if (options.in_place == "yes") return {true};
    return {false, true};
}

std::optional<double> algorithm_bandwidth(const Problem& problem, double us) {
    if (problem.collective == Collective::barrier || us <= 0) return std::nullopt;
    return static_cast<double>(problem.bytes()) / us / 1e3;
}

std::optional<double> bus_bandwidth(const Problem& problem, double us) {
    const std::optional<double> bandwidth = algorithm_bandwidth(problem, us);
    if (!bandwidth) return std::nullopt;
    const double others = (problem.ranks - 1.0) / problem.ranks;
    switch (problem.collective) {
        case Collective::all_reduce:
            return *bandwidth * 2 * others;
        case Collective::all_gather:
        case Collective::reduce_scatter:
        case Collective::gather:
        case Collective::scatter:
        case Collective::all_to_all:
            return *bandwidth * others;
        default:
            return bandwidth;
    }
}

}  // namespace attune::tools::bench
