// What the options mean together, and which of them exclude each other.
#include "apps/tools/bench/compare_sides.hpp"
#include "apps/tools/bench/options.hpp"
#include "apps/tools/bench/problems.hpp"
#include "libcore/error.hpp"
#include "libcore/text.hpp"
#include "libcore/units.hpp"

#include <algorithm>
#include <array>

namespace attune::tools::bench {

namespace {

using collectives::Collective;

core::Error usage(const std::string& message) {
    return core::Error(core::ErrorCode::usage, message);
}

// Standard output holds one document, one table of commas, or text for people.
void validate_output(const Options& options) {
    if (options.json && options.csv) throw usage("--json and --csv exclude each other");
    const char* machine = options.json ? "--json" : "--csv";
    if (options.plot && (options.json || options.csv)) throw usage(std::string("--plot draws for people; leave out ") + machine);
    const bool table = options.compare.empty() && !options.list;
    if (!table && (options.plot || options.per_rank || !options.markdown.empty()))
        throw usage("--plot, --per-rank and --export-markdown belong to a table of times; leave out --compare and --list");
}

void validate_method(const Options& options) {
    const bool skewed = skew_of(options).skew != tuner::Skew::none;
    if (skewed && options.mode == "streaming") throw usage("--skew needs a common start; leave out --mode streaming");
    if (skewed && !options.compare.empty()) throw usage("--compare times ranks that arrive together; leave out --skew");
    if (skewed && options.pattern != "ring") throw usage("--skew goes with --pattern ring only");
    if (options.timeout_ns <= 0) throw usage("--timeout must be longer than nothing; leave it out for 60 s");
}

// An option that none of the collectives has a use for would be ignored.
void validate_use(const Options& options) {
    if (options.list || options.collectives.empty()) return;
    const auto some = [&](const auto& has_use) {
        return std::ranges::any_of(options.collectives, [&](const std::string& name) { return name == "all" || has_use(collectives::parse_collective(name)); });
    };
    if (options.pattern != "ring" && !some([](Collective one) { return one == Collective::send_recv; }))
        throw usage("--pattern belongs to send_recv; write attune-bench send_recv --pattern " + options.pattern);
    if (options.amounts != "balanced" && !some(is_v_form)) throw usage("--amounts belongs to the _v forms, which end in _v; leave it out");
    if (options.roots_given && !some(collectives::is_rooted)) throw usage("--roots belongs to collectives with a root, as broadcast; leave it out");
    if (options.ops_given && !some(collectives::reduces)) throw usage("--op belongs to collectives that reduce, as all_reduce; leave it out");
    if (options.in_place == "yes" && !some(has_in_place_form)) throw usage("--in-place yes: " + options.collectives.front() + " has no form in place");
}

void validate_choice(const Options& options) {
    const std::string set = options.settings.algorithm();
    if (!set.empty() && !options.algorithm.empty() && set != options.algorithm)
        throw usage("--algorithm " + options.algorithm + " and --set algorithm=" + set + " contradict each other");
    if (options.rows && !is_default_against_tuned(options.compare)) throw usage("--rows re-tests a comparison; write --compare default,tuned --rows");
    if (options.rows && !options.counts.empty()) throw usage("--rows re-tests the sizes that were published; choose among them with -b and -e, not --count");
    if (!options.compare.empty() && options.compare.size() != 2)
        throw usage("--compare takes two sides; write --compare default,tuned or --compare ring,two_level");
    if (!options.compare.empty() && forced(options)) throw usage("--compare chooses by itself; leave out --algorithm and --set");
    if (options.collectives.empty() && !options.list && !options.rows) throw usage("no collective was given; write attune-bench all_reduce, or all");
}

}  // namespace

const std::vector<std::string>& amount_words() {
    static const std::vector<std::string> words = {"balanced", "uneven", "one-hot", "zero"};
    return words;
}

const std::vector<std::string>& pattern_words() {
    static const std::vector<std::string> words = {"ring", "ping_pong", "stream", "bidirectional", "rate", "pairs"};
    return words;
}

void validate(const Options& options) {
    validate_output(options);
    validate_choice(options);
    validate_method(options);
    validate_use(options);
}

bool forced(const Options& options) noexcept {
    return !options.algorithm.empty() || !options.settings.entries().empty();
}

tuner::CacheMode cache_mode(const Options& options) {
    return options.cache == "rotate" ? tuner::CacheMode::rotate : tuner::CacheMode::hot;
}

bool streams_by_pattern(const Options& options, Collective collective) {
    constexpr std::array<std::string_view, 3> streams = {"stream", "bidirectional", "rate"};
    return collective == Collective::send_recv && std::ranges::find(streams, options.pattern) != streams.end();
}

tuner::StartMode start_mode(const Options& options, Collective collective) {
    const bool streaming = options.mode == "streaming" || streams_by_pattern(options, collective);
    return streaming ? tuner::StartMode::streaming : tuner::StartMode::synchronized;
}

bool answers(const Options& options, Collective collective) {
    return collective == Collective::send_recv && (options.pattern == "ping_pong" || options.pattern == "pairs");
}

SkewChoice skew_of(const Options& options) {
    const std::vector<std::string> words = {"none", "uniform", "one-late", "ramp"};
    const std::size_t colon = options.skew.find(':');
    const std::string word = core::require_word("skew", options.skew.substr(0, colon), words);
    SkewChoice choice;
    choice.skew = static_cast<tuner::Skew>(std::ranges::find(words, word) - words.begin());
    if (colon != std::string::npos) choice.latest_ns = core::parse_duration_ns(options.skew.substr(colon + 1));
    if (choice.latest_ns > 1'000'000'000) throw usage("--skew " + options.skew + " is later than 1 s; use a shorter time");
    return choice;
}

tuner::TeamOptions team_options(const Options& options, int ranks) {
    tuner::TeamOptions team;
    team.ranks = ranks;
    team.transport = options.transport;
    team.node_map = options.nodes.text(ranks);
    team.bind = options.bind_to == "core";
    team.timeout_ns = options.timeout_ns;
    return team;
}

}  // namespace attune::tools::bench
