// Space enumeration by effect: a config that does the same as an earlier one is not a candidate.
#include "tuner/space.hpp"

#include "collectives/catalogue.hpp"
#include "collectives/default_config.hpp"
#include "libcore/error.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace attune::tuner {
namespace {

using collectives::Problem;
using core::Config;

// Messages below this many bytes stay in a core's own cache; how they were stored makes no difference.
constexpr std::uint64_t streaming_minimum = 64 * 1024;
// A copy between buffers costs two system calls and an answer: below this it never won.
constexpr std::uint64_t direct_minimum = 8 * 1024;

bool is_direct_word(std::string_view protocol) {
    return protocol == "cma_get" || protocol == "cma_put" || protocol == "mixed";
}

// What a config does, comparable: the schedules of all ranks and the way of each message.
struct Effect {
    std::size_t schedule = 0;                // index into Effects::schedules_
    std::set<std::uint64_t> inline_lengths;  // message bytes that go inline
    bool streaming = false;
    bool staged = false;
    std::uint64_t longest_staged = 0;
    std::string direct;  // the protocol that goes past staging
    using Identity = std::tuple<std::size_t, std::set<std::uint64_t>, bool, bool, std::string>;
    Identity identity() const { return {schedule, inline_lengths, staged, streaming && staged && direct.empty(), direct}; }
};

class Effects {
public:
    explicit Effects(const Problem& problem) : problem_(problem) {}

    Effect of(const Config& config) {
        Effect effect;
        effect.schedule = schedule_of(config);
        const std::uint64_t threshold = config.number("inline_bytes", 0);
        for (const auto length : schedules_[effect.schedule].message_bytes) {
            if (length <= threshold) {
                effect.inline_lengths.insert(length);
            } else {
                effect.staged = true;
                effect.longest_staged = std::max(effect.longest_staged, length);
            }
        }
        effect.streaming = config.get("staging_stores") == "streaming";
        const std::string_view protocol = config.get("protocol").value_or("staged");
        if (effect.staged && is_direct_word(protocol)) effect.direct = protocol;
        return effect;
    }

private:
    using Steps = std::vector<std::vector<collectives::Step>>;  // of all ranks
    struct Compiled {
        Steps steps;
        std::set<std::uint64_t> message_bytes;
    };

    // Axes of the transport do not change a schedule, so it is generated once for all their values.
    std::size_t schedule_of(const Config& config) {
        std::string name;
        for (const auto* axis : {"algorithm", "segment_bytes", "channels"})
            name += std::string(config.get(axis).value_or("")) + "/";
        const auto known = by_name_.find(name);
        if (known != by_name_.end()) return known->second;
        return by_name_[name] = index_of(compile(config));
    }

    Compiled compile(const Config& config) const {
        Compiled result;
        for (int rank = 0; rank < problem_.ranks; ++rank) {
            auto schedule = collectives::generate(problem_, config, rank);
            for (const auto& step : schedule.steps)
                if (step.kind == collectives::StepKind::send) result.message_bytes.insert(step.length * core::size_of(problem_.dtype));
            result.steps.push_back(std::move(schedule.steps));
        }
        return result;
    }

    std::size_t index_of(Compiled compiled) {
        const auto same = [&](const Compiled& other) { return other.steps == compiled.steps; };
        const auto found = std::find_if(schedules_.begin(), schedules_.end(), same);
        if (found != schedules_.end()) return static_cast<std::size_t>(found - schedules_.begin());
        schedules_.push_back(std::move(compiled));
        return schedules_.size() - 1;
    }

    const Problem& problem_;
    std::vector<Compiled> schedules_;
    std::map<std::string, std::size_t> by_name_;
};

using Axis = std::pair<std::string, std::vector<std::string>>;

// Segments serve to overlap staging copies; what goes straight has none, so one segment and the default's cut are enough.
bool worth_trying_direct(const Config& config, const Config& zero) {
    const std::uint64_t segment = config.number("segment_bytes", 0);
    return (segment == 0 || segment == zero.number("segment_bytes", 0)) && config.get("inline_bytes") == zero.get("inline_bytes");
}

// Values of each axis, the default's own value first so that a config near the default is met first.
std::vector<Axis> axes(const Problem& problem, const Config& zero, const SpaceOptions& options) {
    std::vector<Axis> result;
    const auto add = [&](const std::string& name, std::vector<std::string> values) {
        if (const auto own = zero.get(name)) {
            std::erase(values, std::string(*own));
            values.insert(values.begin(), std::string(*own));
        }
        result.emplace_back(name, std::move(values));
    };
    Config text;
    std::vector<std::string> segments;
    for (const auto size : segment_sizes(problem.bytes())) {
        text.set("segment_bytes", size);
        segments.emplace_back(*text.get("segment_bytes"));
    }
    add("segment_bytes", segments);
    std::vector<std::string> protocols = {"staged", "inline"};
    if (options.direct_copies && problem.bytes() >= direct_minimum) protocols.insert(protocols.end(), {"cma_get", "cma_put", "mixed"});
    add("protocol", std::move(protocols));
    text.set("inline_bytes", std::uint64_t{2048});
    add("inline_bytes", {"0", "48", std::string(*text.get("inline_bytes"))});
    const bool stores_matter = !options.oversubscribed && problem.bytes() >= streaming_minimum;
    add("staging_stores", stores_matter ? std::vector<std::string>{"cached", "streaming"} : std::vector<std::string>{"cached"});
    return result;
}

// Calls `visit` with every combination; the last axis runs fastest.
template <class Visit>
void product(const std::vector<Axis>& axes, std::size_t depth, Config& config, const Visit& visit) {
    if (depth == axes.size()) {
        visit(config);
        return;
    }
    for (const auto& value : axes[depth].second) {
        config.set(axes[depth].first, value);
        product(axes, depth + 1, config, visit);
    }
}

}  // namespace

CandidateZero parse_candidate_zero(const std::string& text) {
    const auto colon = text.find(':');
    if (colon == std::string::npos)
        throw core::Error(core::ErrorCode::usage, "--candidate-zero '" + text + "' is not COLLECTIVE:ALGORITHM; example: all_reduce:ring");
    CandidateZero result;
    result.collective = collectives::parse_collective(text.substr(0, colon));
    result.algorithm = collectives::parse_algorithm(result.collective, text.substr(colon + 1));
    return result;
}

Config candidate_zero(const Problem& problem, const SpaceOptions& options, const std::vector<CandidateZero>& replaced) {
    Config config = collectives::default_config(problem, options.topology);
    for (const auto& zero : replaced) {
        if (zero.collective != problem.collective) continue;
        config.set("algorithm", zero.algorithm);
        if (!collectives::reject(problem, config)) continue;
        config.set("segment_bytes", std::uint64_t{0});
        config.set("channels", std::uint64_t{1});
        config.set("protocol", "staged");
        if (const auto why = collectives::reject(problem, config))
            throw core::Error(core::ErrorCode::usage,
                              "candidate zero " + zero.algorithm + " cannot run " + std::string(collectives::name_of(problem.collective)) + ": " + *why);
    }
    return config;
}

std::vector<std::uint64_t> segment_sizes(std::uint64_t message_bytes) {
    static constexpr std::array<std::uint64_t, 4> sizes{16 * 1024, 64 * 1024, 256 * 1024, 1024 * 1024};
    std::vector<std::uint64_t> result{0};
    for (const auto size : sizes)
        if (size < message_bytes / 4) result.push_back(size);
    return result;
}

std::vector<Config> enumerate_space(const Problem& problem, const Config& zero, const SpaceOptions& options) {
    std::vector<Config> result;
    std::set<Effect::Identity> seen;
    Effects effects(problem);
    const auto consider = [&](const Config& config) {
        if (collectives::reject(problem, config)) return;
        const Effect effect = effects.of(config);
        if (effect.streaming && effect.longest_staged < streaming_minimum && !(config == zero)) return;
        if (!effect.direct.empty() && !worth_trying_direct(config, zero)) return;
        if (seen.insert(effect.identity()).second) result.push_back(config);
    };
    consider(zero);
    const auto all_axes = axes(problem, zero, options);
    for (const auto* algorithm : collectives::algorithms_for(problem.collective)) {
        Config config = zero;
        config.set("algorithm", algorithm->name);
        product(all_axes, 0, config, consider);
    }
    return result;
}

}  // namespace attune::tuner
