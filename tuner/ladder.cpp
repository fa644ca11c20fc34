// Sizes are totals as in nccl-tests: of the larger buffer.
#include "tuner/ladder.hpp"

#include "libcore/error.hpp"
#include "libcore/units.hpp"

#include <algorithm>

namespace attune::tuner {
namespace {

using collectives::Collective;
using collectives::Problem;

// Elements of the larger buffer for each element of the smaller one.
std::uint64_t blocks_of(const Problem& problem) {
    Problem one = problem;
    one.count = 1;
    return std::max<std::uint64_t>(1, one.bytes() / core::size_of(problem.dtype));
}

int root_of(const std::string& root_class) {
    const bool number = !root_class.empty() && std::ranges::all_of(root_class, [](char c) { return c >= '0' && c <= '9'; });
    return number && root_class.size() < 8 ? std::stoi(root_class) : 0;
}

}  // namespace

Problem problem_of_size(const LadderOptions& options, Collective collective, std::uint64_t bytes) {
    Problem problem;
    problem.collective = collective;
    problem.ranks = options.ranks;
    problem.dtype = options.dtype;
    problem.op = options.op;
    problem.in_place = options.in_place;
    problem.node_map = options.node_map;
    if (collective == Collective::barrier) return problem;
    problem.count = std::max<std::uint64_t>(1, bytes / (core::size_of(options.dtype) * blocks_of(problem)));
    return problem;
}

std::vector<Problem> ladder(const LadderOptions& options) {
    std::vector<std::uint64_t> sizes = options.sizes;
    std::ranges::sort(sizes);
    std::vector<Problem> result;
    for (const auto bytes : sizes) {
        for (const auto collective : options.collectives) {
            const Problem problem = problem_of_size(options, collective, bytes);
            if (std::ranges::find(result, problem) == result.end()) result.push_back(problem);
        }
    }
    return result;
}

std::optional<Problem> problem_of_key(const core::Key& key, std::uint64_t bytes) {
    Problem problem;
    try {
        problem.collective = collectives::parse_collective(key.collective);
        if (key.dtype_class != "bytes") problem.dtype = core::parse_dtype(key.dtype_class);
        if (key.op != "none") problem.op = core::parse_op(key.op);
    } catch (const core::Error&) {
        return std::nullopt;
    }
    problem.ranks = key.ranks;
    problem.node_map = key.node_map;
    problem.in_place = key.in_place;
    problem.root = root_of(key.root_class);
    if (problem.collective == Collective::barrier) return problem;
    problem.count = bytes / (core::size_of(problem.dtype) * blocks_of(problem));
    if (problem.bytes() != bytes) return std::nullopt;
    return problem;
}

std::optional<std::string> why_untunable(Collective collective) {
    if (!collectives::has_amounts(collective)) return std::nullopt;
    const std::string name(collectives::name_of(collective));
    if (collective == Collective::send_recv || collective == Collective::batch_send_recv)
        return name + " has partners of its own in every call, so no measurement stands for the others; it runs on its default";
    return name + " chooses without looking at the single amounts, so what is proven for equal blocks could be slower for others; it runs on its default";
}

std::string label_of(const Problem& problem) {
    const std::string name(collectives::name_of(problem.collective));
    if (problem.collective == Collective::barrier) return name;
    return name + " " + core::format_bytes(problem.bytes()) + (problem.root > 0 ? " root " + std::to_string(problem.root) : "");
}

}  // namespace attune::tuner
