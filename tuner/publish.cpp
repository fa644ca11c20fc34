// The publishing test (design, "Never slower", b): evidence per point, one family of hypotheses, then the vetoes.
#include "tuner/publish.hpp"

#include "collectives/catalogue.hpp"
#include "collectives/default_config.hpp"
#include "libcore/clock.hpp"
#include "libcore/samples.hpp"
#include "tuner/intervals.hpp"
#include "tuner/ladder.hpp"
#include "tuner/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace attune::tuner {
namespace {

using db::Trial;
using Trials = std::vector<const Trial*>;
using Place = std::pair<std::string, std::uint64_t>;  // key text, bytes

// A --recheck run speaks for every size between those it tested: older evidence inside, like probes it did not repeat, stands on a row that was put
// to the test again as a whole.
class Rechecks {
public:
    void add(const Trial& trial, std::size_t at) {
        if (trial.phase != "recheck") return;
        auto [entry, fresh] = spans_.try_emplace({trial.key.text(), trial.run}, Span{at, trial.bytes, trial.bytes});
        entry->second.low = std::min(entry->second.low, trial.bytes);
        entry->second.high = std::max(entry->second.high, trial.bytes);
    }
    bool supersedes(const Place& place, std::size_t last) const {
        return std::ranges::any_of(spans_, [&](const auto& entry) {
            const auto& [name, span] = entry;
            return name.first == place.first && last < span.first && span.low <= place.second && place.second <= span.high;
        });
    }

private:
    struct Span {
        std::size_t first;  // trial of that run
        std::uint64_t low, high;
    };
    std::map<std::pair<std::string, std::string>, Span> spans_;  // by key text and run
};

// The run whose evidence about a config counts: the given one, else the last that re-tested it there. A later run that re-tested another config says
// nothing about this one.
using Tested = std::pair<Place, std::string>;  // and the config's text
std::map<Tested, std::string> runs_that_count(const std::vector<Trial>& trials, const PublishOptions& options) {
    std::map<Tested, std::string> result;
    std::map<Tested, std::size_t> last;
    Rechecks rechecks;
    for (std::size_t i = 0; i < trials.size(); ++i) {
        const auto& trial = trials[i];
        if (!trial.is_evidence() || (!options.run.empty() && trial.run != options.run)) continue;
        const Tested tested{{trial.key.text(), trial.bytes}, trial.config.text()};
        result[tested] = trial.run;
        last[tested] = i;
        rechecks.add(trial, i);
    }
    std::erase_if(result, [&](const auto& entry) { return rechecks.supersedes(entry.first.first, last.at(entry.first)); });
    return result;
}

// What one run says of a problem.
struct Gathered {
    Trials evidence;
    Trials floor;
    std::set<std::string> candidates;  // configs searched
};

// By problem, then by run in the order of their first trials.
std::map<std::pair<Place, std::size_t>, Gathered> gather(const std::vector<Trial>& trials, const PublishOptions& options) {
    const auto runs = runs_that_count(trials, options);
    std::map<std::string, std::size_t> order;
    std::map<std::pair<Place, std::size_t>, Gathered> result;
    for (const auto& trial : trials) {
        const Place place{trial.key.text(), trial.bytes};
        auto& gathered = result[{place, order.try_emplace(trial.run, order.size()).first->second}];
        const auto run = runs.find({place, trial.config.text()});
        if (trial.is_evidence() && run != runs.end() && run->second == trial.run) gathered.evidence.push_back(&trial);
        if (trial.phase == "floor") gathered.floor.push_back(&trial);
        if (trial.phase == "search") gathered.candidates.insert(trial.config.text());
    }
    return result;
}

std::vector<double> ratios(const Trials& trials) {
    std::vector<double> result;
    for (const auto* trial : trials)
        if (trial->outcome == db::Outcome::ok) result.push_back(trial->ratio);
    return result;
}

double floor_of(const Trials& floor_trials, const Trials& evidence) {
    std::set<std::string> launches;
    for (const auto* trial : evidence)
        launches.insert(trial->launch);
    std::vector<Block> blocks;
    for (const auto* trial : floor_trials) {
        if (trial->outcome != db::Outcome::ok || !launches.contains(trial->launch)) continue;
        Block block;
        block.kept = true;
        block.ratio = trial->ratio;
        block.launch = trial->launch;
        block.placement = trial->placement;
        blocks.push_back(std::move(block));
    }
    // Without a floor nothing can be proven.
    return blocks.empty() ? 1 : noise_floor(blocks);
}

std::vector<db::ClassGain> class_gains(const Trials& evidence) {
    std::map<std::string, std::vector<double>> classes;
    for (const auto* trial : evidence)
        if (trial->outcome == db::Outcome::ok) classes[trial->placement].push_back(trial->ratio);
    std::vector<db::ClassGain> result;
    for (const auto& [placement, gains] : classes) {
        const auto interval = core::median_interval(gains, 0.99);
        result.push_back({placement, gains.size(), interval.median, interval.low, interval.high});
    }
    return result;
}

void measure(TestedPoint& point, const Trials& evidence, const Gathered& all, const PublishOptions& options) {
    const auto gains = ratios(evidence);
    point.blocks = gains.size();
    std::set<std::string> launches;
    std::vector<double> default_ns, best_ns;
    for (const auto* trial : evidence) {
        if (trial->outcome != db::Outcome::ok) continue;
        launches.insert(trial->launch);
        default_ns.push_back(core::median(trial->default_ns));
        best_ns.push_back(core::median(trial->config_ns));
    }
    point.launches = launches.size();
    point.candidates = all.candidates.size();
    point.floor = floor_of(all.floor, evidence);
    if (gains.empty()) return;
    point.default_ns = core::median(default_ns);
    point.best_ns = core::median(best_ns);
    const auto interval = core::median_interval(gains, 0.99);
    point.gain = interval.median, point.low = interval.low, point.high = interval.high;
    point.classes = class_gains(evidence);
    point.p_value = core::sign_test_above(gains, 1 + std::max(point.floor, options.minimum_gain));
}

// Reasons that do not depend on the other points; empty = none.
std::string veto(const TestedPoint& point, const Trials& evidence, const PublishOptions& options) {
    for (const auto* trial : evidence)
        if (is_failure(trial->outcome)) return fmt::format("{} in a re-test: {}", db::name_of(trial->outcome), trial->message);
    if (point.blocks < options.minimum_blocks) return fmt::format("{} kept blocks, {} needed", point.blocks, options.minimum_blocks);
    if (point.launches < options.minimum_launches) return fmt::format("{} launches, {} needed", point.launches, options.minimum_launches);
    for (const auto& gain : point.classes)
        if (gain.blocks >= options.class_blocks && gain.ratio * (1 + point.floor) < 1)
            return fmt::format("slower than the default in placement {}: {:.2f}x over {} blocks", gain.placement, gain.ratio, gain.blocks);
    return {};
}

// Trials against another default or another version of the algorithm prove nothing about today's.
std::string outdated(const Trial& trial, const PublishOptions& options) {
    if (options.default_version != 0 && trial.default_version != options.default_version)
        return fmt::format("measured against default version {}, now {}", trial.default_version, options.default_version);
    if (options.default_config) {
        const auto today = options.default_config(trial.key, trial.bytes);
        if (today && !(*today == trial.default_config)) return "measured against another default (" + trial.default_config.text() + ")";
    }
    if (!options.algorithm_version) return {};
    const auto now = options.algorithm_version(trial.key, trial.config);
    if (now == trial.algorithm_version) return {};
    return now == 0 ? "unknown algorithm '" + trial.config.algorithm() + "'"
                    : fmt::format("measured with {} version {}, now {}", trial.config.algorithm(), trial.algorithm_version, now);
}

// All hypotheses of one problem: normally one, more when a run re-tested several configs.
void add_points(const Gathered& gathered, const PublishOptions& options, std::vector<TestedPoint>& points) {
    std::map<std::tuple<std::string, std::string, std::uint32_t, std::uint32_t>, Trials> hypotheses;
    for (const auto* trial : gathered.evidence)
        hypotheses[{trial->config.text(), trial->default_config.text(), trial->default_version, trial->algorithm_version}].push_back(trial);
    for (const auto& [name, evidence] : hypotheses) {
        const Trial& first = *evidence.front();
        TestedPoint point;
        point.key = first.key, point.bytes = first.bytes;
        point.config = first.config, point.default_config = first.default_config;
        point.default_version = first.default_version, point.algorithm_version = first.algorithm_version;
        point.run = first.run, point.utc = evidence.back()->utc;
        point.complete = options.complete && options.complete(first.run, first.key.text(), first.bytes);
        point.reason = outdated(first, options);
        const bool current = point.reason.empty();
        measure(point, evidence, gathered, options);
        if (current)
            point.reason = veto(point, evidence, options);
        else
            point.p_value = 1;
        const bool failed = std::ranges::any_of(evidence, db::is_failure, &Trial::outcome);
        point.unfinished = current && !failed && (point.blocks < options.minimum_blocks || point.launches < options.minimum_launches);
        points.push_back(std::move(point));
    }
}

void judge(std::vector<TestedPoint>& points, const PublishOptions& options) {
    std::vector<double> p_values;
    for (const auto& point : points)
        p_values.push_back(point.p_value);
    const auto rejected = core::benjamini_hochberg(p_values, options.false_discovery_rate);
    for (std::size_t i = 0; i < points.size(); ++i) {
        if (rejected[i] || !points[i].reason.empty()) continue;
        points[i].reason = fmt::format("not proven: gain {:.2f} [{:.2f},{:.2f}] against a floor of {:.1f} %, p = {:.2g} among {} tests", points[i].gain,
                                       points[i].low, points[i].high, 100 * points[i].floor, points[i].p_value, points.size());
    }
}

// A rooted choice proven at the first and at the last rank holds for any root; the weaker of the two points stands for both.
void merge_roots(std::vector<TestedPoint>& points) {
    for (std::size_t i = 0; i < points.size(); ++i) {
        if (points[i].key.root_class != "0" || !points[i].reason.empty()) continue;
        core::Key last_key = points[i].key;
        last_key.root_class = std::to_string(last_key.ranks - 1);
        const auto last = std::ranges::find_if(points, [&](const TestedPoint& other) {
            return other.reason.empty() && other.key == last_key && other.bytes == points[i].bytes && other.config == points[i].config &&
                   other.default_config == points[i].default_config;
        });
        if (last == points.end()) continue;
        TestedPoint both = last->low < points[i].low ? *last : points[i];
        both.key.root_class = "any";
        both.complete = points[i].complete;  // the search was done at root 0
        both.candidates = points[i].candidates;
        *last = both;
        if (points[i].key.root_class != "any") points.erase(points.begin() + static_cast<std::ptrdiff_t>(i--));
    }
}

bool same_place(const TestedPoint& a, const TestedPoint& b) {
    return a.key == b.key && a.bytes == b.bytes;
}

// Of a problem that several runs tested, the last run that proved something speaks, and the last one of all. Points by key and size, those of one size in
// the order of their runs.
void drop_superseded(std::vector<TestedPoint>& points) {
    for (std::size_t i = points.size(); i-- > 0;) {
        const auto supersedes = [&](const TestedPoint& later) {
            return same_place(later, points[i]) && later.run != points[i].run && (later.reason.empty() || !points[i].reason.empty());
        };
        const auto place = points.begin() + static_cast<std::ptrdiff_t>(i);
        if (std::any_of(place + 1, points.end(), supersedes)) points.erase(place);
    }
}

// What rows are made of: a config that failed says nothing about one that is proven there.
std::vector<TestedPoint> without_failed_rivals(std::span<const TestedPoint> points) {
    std::vector<TestedPoint> result;
    for (const auto& point : points) {
        const auto proven = [&](const TestedPoint& other) { return other.reason.empty() && other.run != point.run && same_place(other, point); };
        if (point.reason.empty() || std::ranges::none_of(points, proven)) result.push_back(point);
    }
    return result;
}

// The row of a stretch carries the evidence of its weakest point.
db::ReleaseRow row_of(std::span<const TestedPoint> points, const db::Identity& identity) {
    const auto weakest = std::min_element(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.low < b.low; });
    // A probe between two ladder sizes was never searched: how thorough the search was is known of the others.
    const auto searched = [](const TestedPoint& point) { return point.candidates > 0 || point.complete; };
    const auto candidates = std::ranges::max(points, {}, &TestedPoint::candidates).candidates;
    const bool complete =
        std::ranges::any_of(points, searched) && std::ranges::all_of(points, [&](const TestedPoint& point) { return !searched(point) || point.complete; });
    db::ReleaseRow row;
    row.identity = identity;
    row.row = {.key = weakest->key,
               .low_bytes = points.front().bytes,
               .high_bytes = points.back().bytes,
               .config = weakest->config,
               .default_config = weakest->default_config,
               .default_version = weakest->default_version,
               .algorithm_version = weakest->algorithm_version,
               .instruction_set = {},
               .default_ns = weakest->default_ns,
               .best_ns = weakest->best_ns,
               .gain = weakest->gain,
               .gain_low = weakest->low,
               .gain_high = weakest->high};
    for (const auto& [name, value] : identity.fields)
        if (name == "instruction_set") row.row.instruction_set = value;
    row.evidence = {.launches = weakest->launches,
                    .blocks = weakest->blocks,
                    .floor = weakest->floor,
                    .p_value = weakest->p_value,
                    .candidates = candidates,
                    .complete = complete,
                    .verification = "exact",
                    .run = weakest->run,
                    .utc = weakest->utc,
                    .cut_set = {},
                    .classes = weakest->classes};
    return row;
}

}  // namespace

Selection select_rows(const std::vector<Trial>& trials, const db::Identity& identity, const PublishOptions& options) {
    std::vector<TestedPoint> points;
    for (const auto& [place, gathered] : gather(trials, options))
        add_points(gathered, options, points);
    judge(points, options);
    merge_roots(points);
    std::stable_sort(points.begin(), points.end(),
                     [](const auto& a, const auto& b) { return std::pair(a.key.text(), a.bytes) < std::pair(b.key.text(), b.bytes); });
    drop_superseded(points);
    Selection result;
    for (std::size_t first = 0; first < points.size();) {
        std::size_t end = first;
        while (end < points.size() && points[end].key == points[first].key)
            ++end;
        const std::vector<TestedPoint> of_key = without_failed_rivals(std::span(points).subspan(first, end - first));
        for (const auto& stretch : stretches(of_key)) {
            const auto row = row_of(std::span(of_key).subspan(stretch.first, stretch.last - stretch.first + 1), identity);
            // Two proven configs of one size cannot both be the row: the first keeps the place.
            const bool overlaps = !result.rows.empty() && result.rows.back().row.key == row.row.key && result.rows.back().row.high_bytes >= row.row.low_bytes;
            if (!overlaps) result.rows.push_back(row);
        }
        first = end;
    }
    for (auto& point : points)
        (point.reason.empty() ? result.proven : result.rejected).push_back(std::move(point));
    return result;
}

db::ReleaseContent release_content(const db::Journal& journal, const db::Identity& identity, const Selection& selection) {
    db::ReleaseContent content;
    content.identities = {identity};
    content.rows = selection.rows;
    if (auto cuts = journal.cuts(identity)) {
        for (auto& row : content.rows)
            row.evidence.cut_set = cuts->id;
        content.cuts.push_back(*std::move(cuts));
    }
    content.utc = core::utc_now();
    return content;
}

void keep_untested_rows(db::ReleaseContent& content, const db::ReleaseContent& existing, const Selection& selection) {
    const auto inside = [](const db::ReleaseRow& row, const core::Key& key, std::uint64_t low, std::uint64_t high) {
        return (row.row.key.covers(key) || key.covers(row.row.key)) && row.row.low_bytes <= high && low <= row.row.high_bytes;
    };
    for (const auto& old : existing.rows) {
        if (!(old.identity == content.identities.front())) continue;
        const auto tested = [&](const TestedPoint& point) { return !point.unfinished && inside(old, point.key, point.bytes, point.bytes); };
        const auto overlapped = [&](const db::ReleaseRow& row) { return inside(old, row.row.key, row.row.low_bytes, row.row.high_bytes); };
        if (std::ranges::any_of(selection.proven, tested) || std::ranges::any_of(selection.rejected, tested)) continue;
        if (std::ranges::any_of(selection.rows, overlapped)) continue;
        content.rows.push_back(old);
        const auto same = [&](const db::CutSet& cuts) { return cuts.id == old.evidence.cut_set; };
        const auto cuts = std::ranges::find_if(existing.cuts, same);
        if (cuts != existing.cuts.end() && std::ranges::none_of(content.cuts, same)) content.cuts.push_back(*cuts);
    }
}

std::string complete_name(const std::string& run, const std::string& key, std::uint64_t bytes) {
    return fmt::format("complete {} {} {}", run, key, bytes);
}

PublishOptions publish_options(const db::Journal& journal, std::function<core::Config(const collectives::Problem&)> default_of) {
    PublishOptions options;
    options.default_config = [default_of = std::move(default_of)](const core::Key& key, std::uint64_t bytes) -> std::optional<core::Config> {
        const auto problem = problem_of_key(key, bytes);
        if (!problem) return std::nullopt;
        return default_of(*problem);
    };
    options.default_version = collectives::default_version;
    options.complete = [&journal](const std::string& run, const std::string& key, std::uint64_t bytes) {
        return journal.value(complete_name(run, key, bytes)).has_value();
    };
    options.algorithm_version = [](const core::Key& key, const core::Config& config) -> std::uint32_t {
        const auto* algorithm = collectives::find_algorithm(collectives::parse_collective(key.collective), config.algorithm());
        return algorithm ? algorithm->version : 0;
    };
    return options;
}

}  // namespace attune::tuner
