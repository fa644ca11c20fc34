// From a config to schedules: the checks a config must pass, then algorithm, segments and channels composed.
#include "collectives/amounts.hpp"
#include "collectives/catalogue.hpp"
#include "collectives/composition.hpp"
#include "collectives/node_map.hpp"
#include "libcore/error.hpp"
#include "libcore/text.hpp"
#include "libcore/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

namespace attune::collectives {

namespace {

using Reason = std::optional<std::string>;

// With amounts the blocks are cut, each in as many pieces; only send_recv moves `count` elements like the others.
bool cuts_blocks(const Problem& problem) {
    return has_amounts(problem.collective) && problem.collective != Collective::send_recv;
}

// Elements that decide how many segments there are.
std::uint64_t longest_to_cut(const Problem& problem) {
    return cuts_blocks(problem) ? longest_block(problem) : problem.count;
}

std::uint64_t cut_elements(const Problem& problem, const Cut& cut) {
    const std::uint64_t elements = longest_to_cut(problem);
    return elements / static_cast<std::uint64_t>(cut.channels) + (elements % static_cast<std::uint64_t>(cut.channels) != 0 ? 1 : 0);
}

std::uint64_t segments_of(std::uint64_t elements, std::uint64_t segment_elements) {
    if (segment_elements == 0 || elements == 0) return 1;
    return elements / segment_elements + (elements % segment_elements != 0 ? 1 : 0);
}

Program channel_program(const Algorithm& algorithm, const Part& channel, std::uint64_t segment_elements) {
    const std::uint64_t segments = segments_of(channel.length, segment_elements);
    std::vector<Program> programs;
    programs.reserve(segments);
    for (std::uint64_t segment = 0; segment < segments; ++segment) {
        const std::uint64_t first = segment * segment_elements;
        const std::uint64_t length = segments == 1 ? channel.length : std::min(segment_elements, channel.length - first);
        const Piece piece{static_cast<int>(segment), static_cast<int>(segments)};
        programs.push_back(algorithm.program({channel.problem, channel.rank, channel.begin + first, length, channel.channel, piece}));
    }
    return pipelined(programs);
}

Reason reject_problem(const Problem& problem) {
    if (problem.ranks < 1) return fmt::format("{} ranks; at least 1 is needed", problem.ranks);
    if (is_rooted(problem.collective) && (problem.root < 0 || problem.root >= problem.ranks))
        return fmt::format("root {} of {} ranks; roots are 0 to {}", problem.root, problem.ranks, problem.ranks - 1);
    if (reduces(problem.collective)) {
        if (Reason reason = core::unsupported(problem.dtype, problem.op)) return reason;
    }
    if (problem.in_place && !has_in_place(problem.collective)) return fmt::format("{} has no in-place form", name_of(problem.collective));
    if (problem.op == core::Op::avg && reduces(problem.collective) && !can_average(problem.collective))
        return fmt::format("op avg does not apply to {}; it has no one owner of a value that could divide", name_of(problem.collective));
    if (problem.collective == Collective::barrier && problem.count != 0) return fmt::format("count {} for barrier; it moves no elements, use 0", problem.count);
    constexpr std::uint64_t limit = std::uint64_t{1} << 56;
    if (problem.count > limit / core::size_of(problem.dtype) / static_cast<std::uint64_t>(problem.ranks))
        return fmt::format("count {} on {} ranks is above 2^56 bytes", problem.count, problem.ranks);
    return wrong_amounts(problem);
}

Reason reject_nodes(const Problem& problem, const Algorithm& algorithm) try {
    if (!algorithm.constraints.uses_nodes || problem.node_map.empty()) return {};
    const int mapped = NodeMap::parse(problem.node_map).ranks();
    if (mapped == problem.ranks) return {};
    return fmt::format("{} follows the node map, but {} names {} ranks, not {}", algorithm.name, problem.node_map, mapped, problem.ranks);
} catch (const core::Error& error) {
    return error.what();
}

Reason reject_ranks(const Problem& problem, const Algorithm& algorithm) {
    const Constraints& limits = algorithm.constraints;
    if (problem.ranks < limits.minimum_ranks) return fmt::format("{} needs at least {} ranks, not {}", algorithm.name, limits.minimum_ranks, problem.ranks);
    if (limits.power_of_two_ranks && !std::has_single_bit(static_cast<unsigned>(problem.ranks)))
        return fmt::format("{} needs a power of two of ranks, not {}", algorithm.name, problem.ranks);
    if (limits.even_ranks && problem.ranks % 2 != 0) return fmt::format("{} needs an even number of ranks, not {}", algorithm.name, problem.ranks);
    if (problem.in_place && !limits.in_place) return fmt::format("{} does not work in place", algorithm.name);
    return reject_nodes(problem, algorithm);
}

Reason reject_axes(const core::Config& config, const Algorithm& algorithm) {
    constexpr std::array applicable = {"algorithm",         "segment_bytes",       "channels",          "protocol", "inline_bytes", "staging_stores",
                                       "nontemporal_bytes", "socket_buffer_bytes", "congestion_control"};
    for (const auto& [name, value] : config.entries()) {
        if (std::ranges::find(applicable, name) == applicable.end())
            return fmt::format("{}={} does not apply to {} {}", name, value, name_of(algorithm.collective), algorithm.name);
    }
    return {};
}

Reason reject_cut(const Problem& problem, const core::Config& config, const Algorithm& algorithm) {
    const std::uint64_t channels = config.number("channels", 1);
    if (channels < 1 || channels > max_channels) return fmt::format("channels={} is not within 1 to {}", channels, max_channels);
    if (channels > 1 && !algorithm.constraints.splittable) return fmt::format("channels={} does not apply to {}; use 1", channels, algorithm.name);
    const std::uint64_t segment = config.number("segment_bytes", 0);
    if (segment == 0) return {};
    if (!algorithm.constraints.segmentable) return fmt::format("segment_bytes={} does not apply to {}; use 0", segment, algorithm.name);
    if (cuts_blocks(problem) && !amounts_known_to_all(problem))
        return fmt::format("segment_bytes={} needs counts that all ranks know, as the matrix of {}; use 0", segment, name_of(problem.collective));
    if (segment < min_segment_bytes) return fmt::format("segment_bytes={} is below {}; 0 means one segment", segment, min_segment_bytes);
    const Cut cut = cut_of(problem, config);
    const std::uint64_t segments = segments_of(cut_elements(problem, cut), cut.segment_elements);
    if (segments > max_segments) return fmt::format("segment_bytes={} makes {} segments, above {}; use a larger one", segment, segments, max_segments);
    return {};
}

// Elements of the longest message any rank sends.
std::uint64_t longest_message(const Problem& problem, const Algorithm& algorithm, const Cut& cut) {
    std::uint64_t longest = 0;
    for (Rank rank = 0; rank < problem.ranks; ++rank) {
        for (const Step& step : generate(problem, algorithm, cut, rank).steps) {
            if (step.kind == StepKind::send) longest = std::max(longest, step.length);
        }
    }
    return longest;
}

Reason reject_word(const core::Config& config, std::string_view axis, std::span<const std::string> allowed) {
    const std::optional<std::string_view> value = config.get(axis);
    if (!value || std::ranges::find(allowed, *value) != allowed.end()) return {};
    const std::string near = core::nearest(*value, allowed);
    return fmt::format("{}={} is not one of {}{}", axis, *value, fmt::join(allowed, ", "), near.empty() ? "" : "; did you mean " + near + "?");
}

// Whether a transport has such sockets is no matter of the problem.
Reason reject_link(const core::Config& config) {
    constexpr std::uint64_t least = std::uint64_t{4} << 10, most = std::uint64_t{1} << 30;
    const std::uint64_t buffers = config.number("socket_buffer_bytes", 0);
    if (buffers != 0 && (buffers < least || buffers > most))
        return fmt::format("socket_buffer_bytes={} is not within 4K to 1G; 0 means the default", core::compact_bytes(buffers));
    const std::string_view name = config.get("congestion_control").value_or("");
    constexpr std::size_t longest = 15;  // TCP_CA_NAME_MAX of Linux without the end
    if (name.size() <= longest) return {};
    return fmt::format("congestion_control={} is no name of an algorithm, which has at most {} letters", name, longest);
}

Reason reject_protocol(const Problem& problem, const core::Config& config, const Algorithm& algorithm) {
    static const std::vector<std::string> protocols = {"staged", "inline", "cma_get", "cma_put", "mixed"};
    static const std::vector<std::string> stores = {"cached", "streaming"};
    if (Reason reason = reject_word(config, "protocol", protocols)) return reason;
    if (Reason reason = reject_word(config, "staging_stores", stores)) return reason;
    const std::uint64_t inline_bytes = config.number("inline_bytes", 2048);
    if (inline_bytes != 0 && inline_bytes != 48 && inline_bytes != 2048) return fmt::format("inline_bytes={} is not one of 0, 48, 2048", inline_bytes);
    if (config.get("protocol") == "inline" && cuts_blocks(problem) && !amounts_known_to_all(problem))
        return fmt::format("protocol=inline does not apply to {}, whose ranks do not know all message sizes; use staged", name_of(problem.collective));
    // No message is longer than the larger buffer, so small problems need no look at their schedules.
    if (config.get("protocol") != "inline" || problem.bytes() <= inline_bytes) return {};
    const std::uint64_t longest = longest_message(problem, algorithm, cut_of(problem, config)) * core::size_of(problem.dtype);
    if (longest <= inline_bytes) return {};
    return fmt::format("protocol=inline carries messages of at most {} bytes, the longest here has {}; use staged", inline_bytes, longest);
}

Reason reject_algorithm(Collective collective, const std::string& name) {
    if (name.empty()) return fmt::format("the config names no algorithm for {}", name_of(collective));
    std::vector<std::string> known;
    for (const Algorithm* algorithm : algorithms_for(collective))
        known.emplace_back(algorithm->name);
    const std::string near = core::nearest(name, known);
    return fmt::format("{} has no algorithm '{}'; {}", name_of(collective), name,
                       near.empty() ? fmt::format("there are {}", fmt::join(known, ", ")) : "did you mean " + near + "?");
}

}  // namespace

Cut cut_of(const Problem& problem, const core::Config& config) {
    Cut cut;
    cut.channels = static_cast<int>(config.number("channels", 1));
    const std::uint64_t segment = config.number("segment_bytes", 0);
    if (segment > 0) cut.segment_elements = std::max<std::uint64_t>(1, segment / core::size_of(problem.dtype));
    return cut;
}

Reason reject(const Problem& problem, const core::Config& config) {
    const Algorithm* algorithm = find_algorithm(problem.collective, config.algorithm());
    if (algorithm == nullptr) return reject_algorithm(problem.collective, config.algorithm());
    if (Reason reason = reject_problem(problem)) return reason;
    if (Reason reason = reject_ranks(problem, *algorithm)) return reason;
    if (Reason reason = reject_axes(config, *algorithm)) return reason;
    if (Reason reason = reject_cut(problem, config, *algorithm)) return reason;
    if (Reason reason = reject_link(config)) return reason;
    return reject_protocol(problem, config, *algorithm);
}

Schedule generate(const Problem& problem, const Algorithm& algorithm, const Cut& cut, Rank rank) {
    const Slice whole{BufferId::input, 0, longest_to_cut(problem)};
    std::vector<Program> programs;
    programs.reserve(static_cast<std::size_t>(cut.channels));
    for (int channel = 0; channel < cut.channels; ++channel) {
        const Slice part = balanced(whole, cut.channels, channel);
        programs.push_back(channel_program(algorithm, {problem, rank, part.offset, part.length, {channel, cut.channels}}, cut.segment_elements));
    }
    return split(programs);
}

Schedule generate(const Problem& problem, const core::Config& config, Rank rank) {
    if (const Reason reason = reject(problem, config)) throw core::Error(core::ErrorCode::usage, *reason);
    if (rank < 0 || rank >= problem.ranks)
        throw core::Error(core::ErrorCode::usage, fmt::format("rank {} of {} ranks; ranks are 0 to {}", rank, problem.ranks, problem.ranks - 1));
    if (const Reason reason = has_amounts(problem.collective) ? wrong_amounts(problem, rank) : Reason{})
        throw core::Error(core::ErrorCode::usage, fmt::format("{} on rank {}: {}", name_of(problem.collective), rank, *reason));
    return generate(problem, *find_algorithm(problem.collective, config.algorithm()), cut_of(problem, config), rank);
}

}  // namespace attune::collectives
