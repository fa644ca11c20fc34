#include "collectives/chooser.hpp"

#include "collectives/applicability.hpp"
#include "collectives/catalogue.hpp"
#include "collectives/default_config.hpp"
#include "libcore/error.hpp"
#include "libcore/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace attune::collectives {

namespace {

constexpr std::array<std::string_view, 3> match_names = {"exact", "interval", "none"};
constexpr std::array<std::string_view, 3> source_names = {"default", "tuned", "forced"};

using Reason = std::optional<std::string>;

// Facts of the communicator, which no problem tells.
Reason lacks_means(const core::Config& config, const ChooserFacts& facts) {
    if (const Reason reason = lacks_direct_copies(config, facts.direct_refusal))
        return fmt::format("needs protocol={}, but {}", *config.get("protocol"), *reason);
    if (facts.streams)
        if (const Reason reason = lacks_streams(config, *facts.streams)) return "needs " + *reason;
    const std::uint64_t wanted = config.number("channels", 1);
    if (wanted <= static_cast<std::uint64_t>(facts.channels)) return {};
    return fmt::format("needs channels={}, but this communicator was made with {}", wanted, facts.channels);
}

// Keys that may hold the problem's row, the preferred first.
std::vector<std::string> keys_of(const Problem& problem, const ChooserFacts& facts) {
    const core::Key key = key_of(problem, facts);
    std::vector<std::string> texts = {key.text()};
    if (is_rooted(problem.collective)) texts.push_back(exact_key_of(problem, facts).text());
    return texts;
}

std::string nothing_found(const core::ConfigTable& table, const std::vector<std::string>& keys, std::uint64_t bytes) {
    if (table.size() == 0) return "no tuned table";
    std::string covered;
    for (const std::string& key : keys) {
        const auto [first, last] = table.key_range(key);
        for (std::size_t row = first; row < last; ++row)
            covered += (covered.empty() ? "" : ", ") + interval_text(table.row(row));
    }
    if (covered.empty()) return "no row for this key";
    return fmt::format("no row covers {} (rows of this key: {})", core::format_bytes(bytes), covered);
}

}  // namespace

std::string_view name_of(Match match) noexcept {
    return match_names[static_cast<std::size_t>(match)];
}
std::string_view name_of(ChoiceSource source) noexcept {
    return source_names[static_cast<std::size_t>(source)];
}

Reason lacks_direct_copies(const core::Config& config, const std::string& direct_refusal) {
    const std::string_view protocol = config.get("protocol").value_or("staged");
    if (direct_refusal.empty() || protocol == "staged" || protocol == "inline") return {};
    return direct_refusal;
}

Reason lacks_streams(const core::Config& config, const StreamFacts& streams) {
    const std::uint64_t buffers = config.number("socket_buffer_bytes", 0);
    const std::string name(config.get("congestion_control").value_or(""));
    const std::string_view no_sockets = "but this transport has no sockets; use tcp or mixed";
    if (!streams.any && buffers != 0) return fmt::format("socket_buffer_bytes={}, {}", core::compact_bytes(buffers), no_sockets);
    if (!streams.any && !name.empty()) return fmt::format("congestion_control={}, {}", name, no_sockets);
    if (name.empty() || std::ranges::find(streams.congestion_controls, name) != streams.congestion_controls.end()) return {};
    return fmt::format("congestion_control={}, but the kernels of the ranks offer {}", name, fmt::join(streams.congestion_controls, ", "));
}

core::Key key_of(const Problem& problem, const ChooserFacts& facts) {
    core::Key key;
    key.collective = name_of(problem.collective);
    key.dtype_class = reduces(problem.collective) ? core::name_of(problem.dtype) : "bytes";
    key.op = reduces(problem.collective) ? core::name_of(problem.op) : "none";
    key.ranks = problem.ranks;
    key.node_map = facts.node_map.empty() ? fmt::format("1x{}", problem.ranks) : facts.node_map;
    key.root_class = is_rooted(problem.collective) ? "any" : "none";
    key.transport = facts.transport;
    key.in_place = problem.in_place;
    key.binding = facts.binding;
    return key;
}

core::Key exact_key_of(const Problem& problem, const ChooserFacts& facts) {
    core::Key key = key_of(problem, facts);
    if (is_rooted(problem.collective)) key.root_class = std::to_string(problem.root);
    return key;
}

Chooser::Chooser(ChooserFacts facts, core::ConfigTable table, ForcedChoices forced)
    : facts_(std::move(facts)), table_(std::make_shared<const core::ConfigTable>(std::move(table))), forced_(std::move(forced)) {
    for (const auto& [collective, config] : forced_.entries)
        if (const Reason reason = lacks_means(config, facts_))
            throw core::Error(core::ErrorCode::usage, fmt::format("the forced choice {}={} is impossible: it {}", name_of(collective), config.text(), *reason));
}

namespace {

// `choice` holds the default. Throws when the forced values cannot run the problem.
Choice forced_choice(const Problem& problem, const core::Config& forced, Choice choice) {
    choice.config = choice.config.with(forced);
    choice.source = ChoiceSource::forced;
    choice.reason = fmt::format("forced: {}", forced.text());
    if (const Reason reason = reject(problem, choice.config))
        throw core::Error(core::ErrorCode::usage,
                          fmt::format("the forced choice {}={} is impossible: {}", name_of(problem.collective), forced.text(), *reason));
    return choice;
}

Choice proven_choice(const ProvenChoice& proven, Choice choice) {
    choice.config = choice.config.with(proven.config);
    choice.source = ChoiceSource::tuned;
    choice.match = Match::exact;
    choice.gain = proven.gain;
    choice.reason = "measured and proven by this communicator";
    return choice;
}

}  // namespace

Chooser Chooser::for_team(ChooserFacts facts) const {
    Chooser other = *this;
    other.facts_ = std::move(facts);
    return other;
}

Chooser Chooser::with_proven(ProvenChoice choice) const {
    Chooser other = *this;
    std::erase_if(other.proven_, [&](const ProvenChoice& known) { return known.key == choice.key && known.bytes == choice.bytes; });
    other.proven_.push_back(std::move(choice));
    return other;
}

Chooser Chooser::with_table(core::ConfigTable table) const {
    Chooser other = *this;
    other.table_ = std::make_shared<const core::ConfigTable>(std::move(table));
    other.proven_.clear();
    return other;
}

Choice Chooser::choose(const Problem& problem) const {
    Choice choice;
    choice.config = default_config(problem, facts_.topology);
    for (const auto& [collective, forced] : forced_.entries)
        if (collective == problem.collective) return forced_choice(problem, forced, std::move(choice));
    for (const ProvenChoice& proven : proven_)
        if (proven.bytes == problem.key_bytes() && proven.key == exact_key_of(problem, facts_)) return proven_choice(proven, std::move(choice));
    const std::vector<std::string> keys = keys_of(problem, facts_);
    for (const std::string& key : keys) {
        const std::optional<std::size_t> index = table_->find(key, problem.key_bytes());
        if (!index) continue;
        const core::TableRow row = table_->row(*index);
        if (!choice.reason.empty()) choice.reason += "; ";
        Reason reason = why_unusable(row, problem, choice.config, facts_.topology);
        if (!reason) reason = lacks_means(row.config, facts_);
        if (reason) {
            choice.reason += fmt::format("row {} skipped: {}", *index, *reason);
            continue;
        }
        choice.config = choice.config.with(row.config);
        choice.source = ChoiceSource::tuned;
        choice.match = problem.key_bytes() == row.low_bytes || problem.key_bytes() == row.high_bytes ? Match::exact : Match::interval;
        choice.row = *index;
        choice.gain = row.gain;
        choice.reason += fmt::format("row {} covers {}", *index, interval_text(row));
        return choice;
    }
    if (choice.reason.empty()) choice.reason = nothing_found(*table_, keys, problem.key_bytes());
    return choice;
}

}  // namespace attune::collectives
