#include "collectives/applicability.hpp"

#include "collectives/catalogue.hpp"
#include "collectives/chooser.hpp"
#include "collectives/default_config.hpp"
#include "collectives/sample_amounts.hpp"
#include "libcore/error.hpp"
#include "libcore/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace attune::collectives {

namespace {

// Each set contains the ones before it.
constexpr std::array<std::string_view, 3> instruction_sets = {"generic", "avx2", "avx512"};

using Reason = std::optional<std::string>;

Reason lacks_instructions(const core::TableRow& row, std::string_view available) {
    const auto needed = std::ranges::find(instruction_sets, row.instruction_set);
    if (needed == instruction_sets.end()) return fmt::format("unknown instruction set '{}'", row.instruction_set);
    auto ours = std::ranges::find(instruction_sets, available);
    if (ours == instruction_sets.end()) ours = instruction_sets.begin();  // whatever it is, it runs the generic kernels
    if (needed <= ours) return {};
    return fmt::format("needs {}, but a rank has only {}", row.instruction_set, available);
}

// The root of a row proven for one root only; 0 stands for the class `any`. Other texts make a key that no problem has.
int root_of(const core::Key& key) {
    int root = 0;
    std::from_chars(key.root_class.data(), key.root_class.data() + key.root_class.size(), root);
    return root;
}

// Throws core::Error for a key no call of this version can have.
Problem problem_of(const core::Key& key) {
    Problem problem;
    problem.collective = parse_collective(key.collective);
    problem.ranks = key.ranks;
    problem.node_map = key.node_map;
    problem.root = root_of(key);
    problem.in_place = key.in_place;
    if (reduces(problem.collective)) {
        problem.dtype = core::parse_dtype(key.dtype_class);
        problem.op = core::parse_op(key.op);
    }
    ChooserFacts facts;
    facts.transport = key.transport;
    facts.node_map = key.node_map;
    facts.binding = key.binding;
    core::Key asked = key_of(problem, facts);
    if (is_rooted(problem.collective) && key.root_class == std::to_string(problem.root)) asked.root_class = key.root_class;
    if (key.ranks < 1 || problem.root < 0 || problem.root >= key.ranks || asked != key)
        throw core::Error(core::ErrorCode::failure, fmt::format("no call has the key {}", core::printable(key.text())));
    return problem;
}

// The problem whose larger buffer has at least (or at most) so many bytes.
Problem sized(const Problem& problem, std::uint64_t bytes, bool at_least) {
    const std::uint64_t blocks = has_blocks(problem.collective) ? static_cast<std::uint64_t>(problem.ranks) : 1;
    const std::uint64_t unit = blocks * core::size_of(problem.dtype);
    return with_elements(problem, (bytes / unit + (at_least && bytes % unit != 0 ? 1 : 0)) * blocks);
}

Reason why_unusable_for(const core::TableRow& row, const Problem& problem, const core::Topology& topology) {
    return why_unusable(row, problem, default_config(problem, topology), topology);
}

}  // namespace

Reason why_unusable(const core::TableRow& row, const Problem& problem, const core::Config& standard, const core::Topology& topology) {
    if (row.default_version != default_version)
        return fmt::format("proven against default version {}, now {} (attune-tune --recheck)", row.default_version, default_version);
    if (row.default_config != standard) return fmt::format("proven against the default {} (attune-tune --recheck)", row.default_config.text());
    const std::string name = row.config.algorithm();
    const Algorithm* algorithm = find_algorithm(problem.collective, name);
    if (algorithm == nullptr) return fmt::format("unknown algorithm '{}'", name);
    if (algorithm->version != row.algorithm_version)
        return fmt::format("proven with {} version {}, now {} (attune-tune --recheck)", name, row.algorithm_version, algorithm->version);
    if (Reason reason = lacks_instructions(row, topology.instruction_set)) return reason;
    return reject(problem, standard.with(row.config));
}

Reason why_never_usable(const core::TableRow& row, const core::Topology& topology) try {
    const Problem problem = problem_of(row.key);
    const Reason low = why_unusable_for(row, sized(problem, row.low_bytes, true), topology);
    return low && why_unusable_for(row, sized(problem, row.high_bytes, false), topology) ? low : Reason{};
} catch (const core::Error& error) {
    return error.what();
}

Reason why_other_team(const core::TableRow& row, std::span<const int> ranks, std::string_view transport) {
    if (std::ranges::find(ranks, row.key.ranks) == ranks.end())
        return fmt::format("proven for {} ranks, this job has {}", row.key.ranks, fmt::join(ranks, ", "));
    if (row.key.transport != transport) return fmt::format("proven for the transport {}, this job uses {}", row.key.transport, transport);
    return std::nullopt;
}

}  // namespace attune::collectives
