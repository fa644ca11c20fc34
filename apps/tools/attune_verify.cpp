// attune-verify: proves schedules and compiled plans.
#include "apps/tools/support/interrupt.hpp"
#include "apps/tools/support/json.hpp"
#include "apps/tools/support/options.hpp"
#include "apps/tools/support/run_tool.hpp"
#include "collectives/proof_sweep.hpp"
#include "libcore/environment.hpp"
#include "libcore/error.hpp"
#include "libcore/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>

namespace {

using namespace attune;
using collectives::Algorithm;
using collectives::Collective;

struct Options {
    std::vector<std::string> collectives;
    std::string algorithm;
    tools::RankList ranks = tools::RankList::parse("1-17,31-33");
    tools::RootChoice roots = tools::RootChoice::parse("all");
    core::Config settings;
    bool json = false;
    bool quiet = false;
};

struct Totals {
    std::uint64_t proved = 0;
    std::vector<collectives::ProofFailure> failures;
    std::string skipped;  // the first reason why something did not apply
    bool stopped = false;
};

double processor_seconds() {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

std::vector<const Algorithm*> chosen(const Options& options) {
    std::vector<const Algorithm*> algorithms;
    for (const Collective collective : collectives::all_collectives()) {
        const std::string name(name_of(collective));
        const auto named = [&](const std::string& word) { return word == "all" || word == name; };
        if (std::none_of(options.collectives.begin(), options.collectives.end(), named)) continue;
        for (const Algorithm* algorithm : collectives::algorithms_for(collective))
            algorithms.push_back(algorithm);
    }
    if (options.algorithm.empty()) return algorithms;
    std::vector<const Algorithm*> matching;
    std::vector<std::string> known;
    for (const Algorithm* algorithm : algorithms) {
        const std::vector<std::string> aliases = collectives::aliases_of(algorithm->collective, algorithm->name);
        known.emplace_back(algorithm->name);
        if (algorithm->name == options.algorithm || std::find(aliases.begin(), aliases.end(), options.algorithm) != aliases.end())
            matching.push_back(algorithm);
    }
    if (matching.empty()) core::require_word("algorithm", options.algorithm, known);
    return matching;
}

void print_line(const Algorithm& algorithm, const collectives::SweepResult& result, double seconds) {
    const std::uint64_t tried = result.proved + result.failures.size();
    const std::string name = fmt::format("{:<16} {:<26}", name_of(algorithm.collective), algorithm.name);
    if (tried == 0) {
        fmt::print("{} skipped, {}\n", name, result.skipped.empty() ? "none of these ranks is such a root" : result.skipped.front());
    } else {
        fmt::print("{} {} {:>7} of {:<7} {:6.2f} s\n", name, result.failures.empty() ? "proved " : "REFUTED", result.proved, tried, seconds);
    }
    std::fflush(stdout);
}

tools::Json document(const Totals& totals, double seconds) {
    tools::Json json = tools::json_document("attune.verify/1");
    json["proved"] = totals.proved;
    json["seconds"] = seconds;
    json["interrupted"] = totals.stopped;
    json["failed"] = tools::Json::array();
    for (const collectives::ProofFailure& failure : totals.failures) {
        json["failed"].push_back({{"collective", name_of(failure.collective)},
                                  {"algorithm", failure.algorithm},
                                  {"ranks", failure.ranks},
                                  {"root", failure.root},
                                  {"config", failure.config},
                                  {"reason", failure.reason}});
    }
    return json;
}

void print_totals(const Totals& totals, double seconds) {
    constexpr std::size_t shown = 20;
    for (std::size_t i = 0; i < std::min(shown, totals.failures.size()); ++i) {
        const collectives::ProofFailure& failure = totals.failures[i];
        fmt::print("refuted {} {} ranks={} root={} {}: {}\n", name_of(failure.collective), failure.algorithm, failure.ranks, failure.root, failure.config,
                   failure.reason);
    }
    if (totals.failures.size() > shown) fmt::print("... and {} more; --json lists all\n", totals.failures.size() - shown);
    fmt::print("proved {} (algorithm, ranks, root, config) in {:.1f} s of processor time{}{}\n", totals.proved, seconds,
               totals.failures.empty() ? "" : fmt::format(", refuted {}", totals.failures.size()), totals.stopped ? ", interrupted" : "");
}

// Takes the algorithm out of --set and refuses what would change nothing that is proved.
core::Config pinned_axes(Options& options) {
    const std::vector<std::string> axes = {"segment_bytes", "channels", "protocol", "inline_bytes"};
    core::Config pinned;
    for (const auto& [name, value] : options.settings.entries()) {
        if (name != "algorithm") {
            if (std::find(axes.begin(), axes.end(), name) == axes.end())
                throw core::Error(core::ErrorCode::usage,
                                  fmt::format("--set {} changes nothing that is proved; it fixes algorithm, {}", name, core::join(axes, ", ")));
            pinned.set(name, std::string_view(value));
            if (name == "protocol") core::require_word("protocol", value, std::vector<std::string>{"staged", "cma_get", "cma_put", "mixed"});
            continue;
        }
        if (!options.algorithm.empty() && options.algorithm != value)
            throw core::Error(core::ErrorCode::usage, fmt::format("--algorithm {} and --set algorithm={} contradict each other", options.algorithm, value));
        options.algorithm = value;
    }
    return pinned;
}

int run(Options options) {
    if (core::read_environment().rank.value_or(0) != 0) return 0;  // in a job rank 0 proves and prints
    const core::Config pinned = pinned_axes(options);
    const tools::InterruptGuard guard;
    collectives::ProofSweep sweep({options.ranks.values, [&](int ranks) { return options.roots.roots(ranks); }, pinned, [&] { return guard.interrupted(); }});
    Totals totals;
    const double start = processor_seconds();
    for (const Algorithm* algorithm : chosen(options)) {
        const double before = processor_seconds();
        const collectives::SweepResult result = sweep.run(*algorithm);
        totals.proved += result.proved;
        totals.failures.insert(totals.failures.end(), result.failures.begin(), result.failures.end());
        if (totals.skipped.empty() && !result.skipped.empty()) totals.skipped = result.skipped.front();
        if (!options.json && !options.quiet) print_line(*algorithm, result, processor_seconds() - before);
        totals.stopped = result.stopped;
        if (totals.stopped) break;
    }
    const double seconds = processor_seconds() - start;
    if (options.json) {
        tools::print_json(document(totals, seconds));
    } else {
        print_totals(totals, seconds);
    }
    if (totals.stopped) return static_cast<int>(core::ErrorCode::interrupted);
    if (!totals.failures.empty()) return static_cast<int>(core::ErrorCode::check_failed);
    if (totals.proved == 0) {
        throw core::Error(core::ErrorCode::usage,
                          "nothing to prove: " + (totals.skipped.empty() ? "none of these numbers of ranks has such a root" : totals.skipped));
    }
    return 0;
}

tools::Body set_up(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    std::vector<std::string> words = {"all"};
    for (const Collective collective : collectives::all_collectives())
        words.emplace_back(name_of(collective));
    tools::add_word_list_option(app, "collectives", options->collectives, {"collective", words, "what to prove, or all"});
    app.add_option("--algorithm", options->algorithm, "only this algorithm");
    tools::add_rank_list_option(app, options->ranks);
    tools::add_roots_option(app, options->roots);
    tools::add_set_option(app, options->settings, "fix an axis instead of sweeping it: algorithm, segment_bytes, channels, protocol, inline_bytes");
    tools::add_json_option(app, options->json);
    tools::add_quiet_option(app, options->quiet);
    return [options] {
        if (options->collectives.empty()) throw core::Error(core::ErrorCode::usage, "no collective was given; write attune-verify all_reduce, or all");
        return run(*options);
    };
}

}  // namespace

int main(int argc, char** argv) {
    return tools::run_tool(
        {"attune-verify",
         "Proves collectives without running them: every element right, no deadlock under four models of sending, the same bits on all ranks. "
         "Proves schedules and the plans compiled from them, with counts around the ranks, segments, channels, in and out of place.",
         "attune-verify all --ranks 1-17,31-33 --roots all\n"
         "attune-verify broadcast --algorithm chain --ranks 6 --roots 2 --set channels=2"},
        argc, argv, set_up);
}
