#include "apps/tools/bench/problems.hpp"

#include "collectives/amounts.hpp"
#include "libcore/error.hpp"
#include "tuner/traffic.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace attune::tools::bench {

using collectives::Collective;
using collectives::Problem;

bool is_v_form(Collective collective) {
    return collectives::has_amounts(collective) && collective != Collective::send_recv && collective != Collective::batch_send_recv;
}

namespace {

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

// Elements of the larger buffer for one element of the smaller.
std::uint64_t blocks_per_count(Collective collective, int ranks) {
    if (collective == Collective::batch_send_recv) return 2;
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

// Counts as the problem has them; totals of the _v forms.
std::vector<std::uint64_t> counts_of(const Options& options, const Problem& shape) {
    const bool total = is_v_form(shape.collective);
    if (shape.collective == Collective::barrier || (total && options.amounts == "zero")) return {0};
    std::vector<std::uint64_t> counts;
    for (const std::string& text : options.counts)
        counts.push_back(parse_count(text));
    counts = allowed(std::move(counts), shape);
    if (!counts.empty()) {
        for (std::uint64_t& count : counts)
            count *= total ? static_cast<std::uint64_t>(shape.ranks) : 1;
        return counts;
    }
    const std::uint64_t unit = core::size_of(shape.dtype) * (total ? 1 : blocks_per_count(shape.collective, shape.ranks));
    for (const std::uint64_t bytes : options.sizes.sizes())
        counts.push_back(bytes / unit);
    counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
    return allowed(std::move(counts), shape);
}

bool has_all(const std::vector<std::string>& words) {
    return std::ranges::find(words, "all") != words.end();
}

// Operators that do not work on the type are left out of "all" and are errors when named. Those that do not fit the collective are rows that say why.
std::vector<core::Op> ops_of(const Options& options, const Problem& shape) {
    if (!collectives::reduces(shape.collective)) return {core::Op::sum};
    std::vector<core::Op> ops = values_of<core::Op>(options.ops, core::all_ops(), core::parse_op);
    const bool all = has_all(options.ops) || has_all(options.dtypes);
    std::erase_if(ops, [&](core::Op op) {
        const std::optional<std::string> why = core::unsupported(shape.dtype, op);
        if (why && !all) throw core::Error(core::ErrorCode::usage, *why);
        const bool unfit = op == core::Op::avg && !collectives::can_average(shape.collective) && (has_all(options.ops) || has_all(options.collectives));
        return why.has_value() || unfit;
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

tuner::AmountPattern amounts_of(const Options& options) {
    const std::vector<std::string>& words = amount_words();
    return static_cast<tuner::AmountPattern>(std::ranges::find(words, options.amounts) - words.begin());
}

tuner::PairPattern partners_of(const Options& options) {
    if (options.pattern == "ring") return tuner::PairPattern::ring;
    if (options.pattern == "bidirectional") return tuner::PairPattern::both_ways;
    return options.pattern == "rate" || options.pattern == "pairs" ? tuner::PairPattern::halves : tuner::PairPattern::one_way;
}

// All problems that differ from `shape` in operator, root and count only.
void add_series(const Options& options, Problem shape, std::vector<Problem>& problems) {
    for (const core::Op op : ops_of(options, shape)) {
        for (const int root : roots_of(options, shape)) {
            shape.op = op;
            shape.root = root;
            for (const std::uint64_t count : counts_of(options, shape))
                problems.push_back(with_traffic(options, shape, count));
        }
    }
}

}  // namespace

Problem with_traffic(const Options& options, Problem shape, std::uint64_t count) {
    if (is_v_form(shape.collective)) return tuner::with_amounts(std::move(shape), amounts_of(options), count);
    if (shape.collective == Collective::send_recv) return tuner::with_partners(std::move(shape), partners_of(options), count);
    if (shape.collective == Collective::batch_send_recv) return tuner::with_neighbours(std::move(shape), count);
    shape.count = count;
    return shape;
}

std::vector<Collective> collectives_of(const Options& options) {
    const std::vector<std::string> all = {"all"};
    return values_of<Collective>(options.collectives.empty() ? all : options.collectives, collectives::all_collectives(), collectives::parse_collective);
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

bool has_in_place_form(Collective collective) noexcept {
    return collective != Collective::barrier && collectives::has_in_place(collective);
}

std::vector<bool> forms_of(const Options& options, const Problem& problem) {
    if (!has_in_place_form(problem.collective) || options.in_place == "no") return {false};
    if (options.in_place == "yes") return {true};
    return {false, true};
}

std::string shape_of(const Options& options, Collective collective) {
    if (is_v_form(collective)) return options.amounts;
    return collective == Collective::send_recv ? options.pattern : std::string();
}

double messages_of(const Options& options, const Problem& problem) {
    return streams_by_pattern(options, problem.collective) ? tuner::messages_of(partners_of(options), problem.ranks) : 1;
}

std::uint64_t bytes_of(const Problem& problem) {
    return problem.collective == Collective::batch_send_recv ? collectives::view_of(problem, 0).bytes() : problem.bytes();
}

std::uint64_t count_of(const Problem& problem) {
    if (is_v_form(problem.collective)) return bytes_of(problem) / core::size_of(problem.dtype);
    return problem.collective == Collective::batch_send_recv ? bytes_of(problem) / core::size_of(problem.dtype) / 2 : problem.count;
}

std::optional<double> algorithm_bandwidth(const Problem& problem, double us) {
    if (problem.collective == Collective::barrier || us <= 0) return std::nullopt;
    return static_cast<double>(bytes_of(problem)) / us / 1e3;
}

double bus_factor(const Problem& problem) {
    const double others = (problem.ranks - 1.0) / problem.ranks;
    switch (problem.collective) {
        case Collective::all_reduce:
            return 2 * others;
        case Collective::all_gather:
        case Collective::reduce_scatter:
        case Collective::gather:
        case Collective::scatter:
        case Collective::all_to_all:
        case Collective::all_gather_v:
        case Collective::reduce_scatter_v:
        case Collective::gather_v:
        case Collective::scatter_v:
        case Collective::all_to_all_v:
            return others;
        default:
            return 1;
    }
}

std::optional<double> bus_bandwidth(const Problem& problem, double us) {
    const std::optional<double> bandwidth = algorithm_bandwidth(problem, us);
    return bandwidth ? std::optional(*bandwidth * bus_factor(problem)) : bandwidth;
}

}  // namespace attune::tools::bench
